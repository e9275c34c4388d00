package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header/notice"
	"github.com/stele-go/stele/internal/tempfile"
)

func TestHeaderInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("%03d.go", i)] = "package a\n"
	}
	plant(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	e, err := notice.New(notice.Options{Action: notice.Insert, Text: "Copyright {{.Year}} ACME", Year: "2026"})
	if err != nil {
		t.Fatal(err)
	}
	r := headerRun{editor: e, write: true, tell: func(done, of int, path string) { cancel() }}
	r.options.Workers = 2
	var choice fileChoice
	all, err := choice.collect(ctx, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := r.run(ctx, all)
	var out, diag bytes.Buffer
	h := headerFlags{verb: notice.Insert}
	if code := h.report(ctx, outcomes, durability.Power, &out, &diag); code != exitInterrupted || !strings.Contains(diag.String(), "not begun") {
		t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, diag.String())
	}
	now, done := snapshot(t), 0
	for _, o := range outcomes {
		has := strings.HasPrefix(now[o.Path], "// Copyright")
		if has {
			done++
		}
		if has != (o.State == notice.Inserted) || !has && (o.State != stateNotBegun || now[o.Path] != "package a\n") {
			t.Errorf("%s is said to be %s, and is %q", o.Path, o.State, now[o.Path])
		}
	}
	if done == 0 || done == len(outcomes) {
		t.Errorf("%d of %d files were done: the interruption was not in the middle", done, len(outcomes))
	}
	if len(now) != len(files) {
		t.Errorf("%d files, want %d", len(now), len(files))
	}

	diag.Reset()
	code := execute(ctx, call("insert", "."), strings.NewReader(""), &out, &diag)
	if code != exitInterrupted || !maps.Equal(now, snapshot(t)) {
		t.Errorf("interrupted before the first file: exit code %d: %s", code, diag.String())
	}
}

// Programs insert their banners into the same files at once: each file gets each
// banner once.
func TestHeaderConcurrent(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("%03d.go", i)] = "package a\n"
	}
	plant(t, files)
	banners := []string{"banner one", "banner two", "banner three"}
	var wg sync.WaitGroup
	for _, b := range banners {
		wg.Go(func() {
			var out, diag bytes.Buffer
			if code := execute(t.Context(), []string{"header", "insert", "--level", "kill", "--text", b, "."}, nil, &out, &diag); code != exitOK {
				t.Errorf("%s: exit code %d: %s", b, code, diag.String())
			}
		})
	}
	wg.Wait()
	for name, content := range snapshot(t) {
		for _, b := range banners {
			if strings.Count(content, "// "+b+"\n\n") != 1 {
				t.Errorf("%s: %q", name, content)
			}
		}
	}
}

// A file that is removed after it was collected is no failure.
func TestHeaderFileGone(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"a.go": "package a\n", tempfile.Name(tempfile.DefaultPattern): "x"})
	var choice fileChoice
	all, err := choice.collect(t.Context(), []string{"."})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v: a temporary file of another call is not to be taken", all, err)
	}
	if err := os.Remove("a.go"); err != nil {
		t.Fatal(err)
	}
	e, err := notice.New(notice.Options{Action: notice.Insert, Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r := headerRun{editor: e, write: true, tell: func(int, int, string) {}}
	if got := r.run(t.Context(), all); got[0].State != notice.Skipped || got[0].Reason != "removed meanwhile" {
		t.Errorf("%+v", got)
	}
}

func TestHeaderLevelTimesAndWorkers(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"a.go": "package a\n"})
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes("a.go", long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("a.go", 0o751); err != nil {
		t.Fatal(err)
	}
	code, out, diag := stele(t, call("insert", "--keep-times", "--workers", "3", "--level", "kill", "a.go")...)
	if code != exitOK || !strings.Contains(out, durability.Kill.Survives()) {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	st, err := os.Stat("a.go")
	if err != nil {
		t.Fatal(err)
	}
	if !st.ModTime().Equal(long) || st.Mode().Perm() != 0o751 {
		t.Errorf("time %v, mode %v; want %v, 0751", st.ModTime(), st.Mode(), long)
	}
	if _, out, _ := stele(t, call("replace", "--year", "2031", "a.go")...); !strings.Contains(out, "survives a power cut") {
		t.Errorf("the default level: %s", out)
	}
	if st, err = os.Stat("a.go"); err != nil || st.ModTime().Equal(long) {
		t.Errorf("without --keep-times the time stayed: %v", err)
	}
}

// A file that cannot be read or written is a failure; the others are written.
func TestHeaderFailures(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"a.go": "package a\n", "b.go": "package a\n", "d/c.go": "package c\n"})
	for name, mode := range map[string]fs.FileMode{"a.go": 0, "d": 0} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(name, 0o755)
	}
	code, out, diag := stele(t, call("insert", ".")...)
	if code != exitFailed || !strings.Contains(diag, "a.go") || !strings.Contains(diag, "d: ") || !strings.Contains(out, "1 inserted, 2 failed") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}
