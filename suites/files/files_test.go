package files

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

// Every way makes the files of the baseline, with their content. Ways that promise
// nothing leave nothing.
func TestNewfileWaysMakeTheSameFiles(t *testing.T) {
	for _, e := range []lab.Experiment{create(16, 0).Build(), create(16, 4096).Build(), scales()[0], queue(16).Build(), batch().Build()} {
		e := suitetest.Smaller(e)
		t.Run(e.ID(), func(t *testing.T) {
			t.Parallel()
			const ops = 3
			var want []string
			for i := range e.Variants {
				v := &e.Variants[i]
				if e.Params["size"] == "4096" && strings.Contains(v.Name, "shards") {
					continue // where the content is does not matter, and subdirectories take long
				}
				dir := t.TempDir()
				b, err := lab.RunOnce(t.Context(), &e, v, dir, ops, 7)
				if b.Unsupported {
					t.Logf("%s cannot run here: %v", v.Name, err)
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", v.Name, err)
					continue
				}
				found := suitetest.RegularFiles(t, dir)
				names := make([]string, 0, len(found))
				for name, data := range found {
					names = append(names, name)
					if size := intOrZero(t, e.Params["size"]); len(data) != size || size > 0 && !bytes.Equal(data[:5], []byte{0, 1, 2, 3, 4}) {
						t.Errorf("%s left %d bytes in %s, want %d", v.Name, len(data), name, size)
					}
				}
				slices.Sort(names)
				if i == 0 {
					want = names
				}
				switch {
				case v.Promise.Level == durability.None:
					if len(names) != 0 {
						t.Errorf("%s left %q", v.Name, names)
					}
				case v.Name == "os.CreateTemp":
					if len(names) != len(want) {
						t.Errorf("%s made %d files, the baseline %d", v.Name, len(names), len(want))
					}
				case !slices.Equal(names, want):
					t.Errorf("%s made %q, the baseline %q", v.Name, names, want)
				}
			}
			if n := ops * max(1, intOrZero(t, e.Params["files"])); len(want) != n {
				t.Errorf("%d operations made %d files, want %d", ops, len(want), n)
			}
		})
	}
}

func intOrZero(t *testing.T, s string) int {
	if s == "" {
		return 0
	}
	return suitetest.Int(t, s)
}

// A shared directory is left as it was found, by all ways.
func TestLeftOversStay(t *testing.T) {
	e := suitetest.Smaller(besideLeftOvers(leftOversQuick).Build())
	dir := t.TempDir() // RunOnce shares below the block's directory, so this one is for all
	shared := filepath.Join(dir, "shared", leftOverPrefix+"50")
	for i := range e.Variants {
		v := &e.Variants[i]
		b, err := lab.RunOnce(t.Context(), &e, v, dir, 40, 7)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if b.Ops != 40 {
			t.Errorf("%s did %d operations", v.Name, b.Ops)
		}
		list, err := os.ReadDir(shared)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 50 {
			t.Errorf("after %s there are %d entries, want the 50 left-overs", v.Name, len(list))
		}
	}
}

func TestTooFewInodesAreNamed(t *testing.T) {
	dir := t.TempDir()
	info, err := sys.StatFS(dir)
	if err != nil || info.Inodes == 0 {
		t.Skipf("%s has no limit on inodes: %v", dir, err)
	}
	err = roomFor(dir, 1<<60) // XFS makes inodes of whatever is free, which changes
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "inodes") {
		t.Errorf("%v", err)
	}
	if err := roomFor(dir, 1); err != nil && info.FreeInodes > 2*PerBlock {
		t.Errorf("one more file: %v", err)
	}
}

// Each variant is compared with the plain way of its promise.
func TestNewfileBaselines(t *testing.T) {
	plain := map[durability.Level][]string{
		durability.Kill:  {nameOSCreate, "os.CreateTemp + os.Rename", nameDirCreate},
		durability.Power: {"os.Create + fsync", "os.CreateTemp + os.Rename + fsync", "os.Create, fsync at the end", "Dir.Create power"},
		durability.None:  {"os.CreateTemp + os.Remove"},
	}
	for _, e := range scales() {
		for _, v := range e.Variants {
			if base := e.BaselineFor(v.Promise); !strings.HasSuffix(base.Name, ", 1 goroutine") {
				t.Errorf("%s: %s is compared with %s", e.ID(), v.Name, base.Name)
			}
		}
	}
	direct := queue(16)
	for _, j := range Jobs() {
		e := j.Build()
		for _, v := range e.Variants {
			base := e.BaselineFor(v.Promise)
			if !slices.Contains(plain[v.Promise.Level], base.Name) {
				t.Errorf("%s: %s is compared with %s", e.ID(), v.Name, base.Name)
			}
			if (base.Name == nameDirCreate || base.Name == "Dir.Create power") && j.Name != direct.Name {
				t.Errorf("%s: %s is compared with Stele's own %s", e.ID(), v.Name, base.Name)
			}
		}
	}
}

func TestNewfileWithContentTornOrNot(t *testing.T) {
	for _, v := range create(16, 4096).Build().Variants {
		want := durability.Torn
		if strings.Contains(v.Name, "Publish") || strings.Contains(v.Name, "Rename") {
			want = durability.OldOrNew
		}
		if v.Promise.After != want {
			t.Errorf("%s promises %v", v.Name, v.Promise)
		}
	}
}

// A file of newfile.Anonymous with a hidden name is not measured as one without a name.
func TestHiddenNamesAreNoUnnamedFiles(t *testing.T) {
	dir := t.TempDir()
	d, err := newfile.OpenDir(dir, newfile.Options{Level: durability.Kill})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := newfile.Anonymous(d, filePerm)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := NeedUnnamed(d); errors.Is(err, errors.ErrUnsupported) != (len(entries) > 0) {
		t.Errorf("the directory shows %d files, and needUnnamed says %v", len(entries), err)
	}
}

// A way that fails must not pass for a fast one.
func TestAFailingFileWayIsAnError(t *testing.T) {
	e := create(1, 0).Build()
	for i := range e.Variants {
		v := &e.Variants[i]
		if v.Name == "Memory" {
			continue // needs no directory
		}
		dir := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(dir, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := lab.RunOnce(t.Context(), &e, v, dir, 1, 7); err == nil {
			t.Errorf("%s gave no error below a file", v.Name)
		}
	}
}

func TestWrongNewfileParameterIsAnError(t *testing.T) {
	for _, e := range []lab.Experiment{create(1, 0).Build(), batch().Build(), besideLeftOvers(1).Build(), queue(1).Build()} {
		for key := range e.Params {
			for _, n := range []string{"-1", "many", "999999999999"} {
				wrong := suitetest.Smaller(e)
				wrong.Params[key] = n
				if _, err := lab.RunOnce(t.Context(), &wrong, &wrong.Variants[0], t.TempDir(), 1, 7); err == nil {
					t.Errorf("%s=%s gave no error", key, n)
				}
			}
		}
	}
}

func TestAnswersAreWaitedFor(t *testing.T) {
	a := NewAnswers()
	for range 3 {
		a.Expect()
	}
	done := make(chan error)
	go func() { done <- a.Wait() }()
	broken := errors.New("broken")
	a.Answer(nil)
	a.Answer(broken)
	select {
	case err := <-done:
		t.Fatalf("did not wait for the last answer: %v", err)
	default:
	}
	a.Answer(nil)
	if err := <-done; err != broken {
		t.Errorf("got %v, want the answer that was an error", err)
	}
}
