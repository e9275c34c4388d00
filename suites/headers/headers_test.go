package headers

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/job"
)

// Every way leaves the header first and the old content last, and insert reports the
// next read. A way that the file system does not have is unsupported.
func TestHeaderWaysInsert(t *testing.T) {
	for _, params := range []run.Params{
		{"size": "1KiB", "header": "128", "cache": datafile.Warm},
		{"size": "1MiB", "header": "4096", "cache": datafile.Warm},
		{"size": "1MiB", "header": "128", "cache": datafile.Cold},
	} {
		for afterwards, j := range map[bool]job.Job[Inserter]{
			true:  insert(params["size"], params["header"], params["cache"]),
			false: insertAndRead(params["size"], params["header"], params["cache"]),
		} {
			e := j.Build()
			for i := range e.Variants {
				v := &e.Variants[i]
				dir := t.TempDir()
				b, err := lab.RunOnce(t.Context(), &e, v, dir, 2, 7)
				if errors.Is(err, errors.ErrUnsupported) || b.Unsupported {
					t.Logf("%s: %s: %v", e.ID(), v.Name, err)
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", e.ID(), err)
					continue
				}
				checkHeaders(t, dir, e.ID()+" "+v.Name, params, 2)
				if next, ok := b.Metrics["next_read_ns"]; ok != afterwards || ok && next <= 0 {
					t.Errorf("%s: %s: the next read took %v, %v", e.ID(), v.Name, next, ok)
				}
			}
		}
	}
}

// checkHeaders looks at the files that a block left.
func checkHeaders(t *testing.T, dir, what string, params run.Params, n int) {
	t.Helper()
	size, err := sizeOf(params["size"])
	if err != nil {
		t.Fatal(err)
	}
	head := Head(suitetest.Int(t, params["header"]))
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != n {
		t.Errorf("%s left %d files, want %d (%v)", what, len(names), n, err)
	}
	for _, name := range names {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		old := bytes.Repeat([]byte("x"), int(size))
		rest, found := bytes.CutPrefix(got, head)
		pad, ends := bytes.CutSuffix(rest, old)
		if !found || !ends || len(bytes.Trim(pad, "\n")) > 0 {
			t.Errorf("%s left a file of %d bytes that is not header, padding and old content", what, len(got))
		}
	}
}

// Ten headers go into each file, none lost, each way.
func TestHeaderInject(t *testing.T) {
	j := inject(2)
	e := j.Build()
	if e.Ops != 20 || e.Params["count"] != "20" {
		t.Fatalf("%s has %d operations", e.ID(), e.Ops)
	}
	head := Head(injectHead)
	for i := range e.Variants {
		v := &e.Variants[i]
		dir := t.TempDir()
		b, err := lab.RunOnce(t.Context(), &e, v, dir, e.Ops, 7)
		if b.Unsupported {
			t.Logf("%s: %v", v.Name, err)
			continue
		}
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, name := range []string{"f0", "f1"} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(got, head); n != injectPerFile || !bytes.HasSuffix(got, bytes.Repeat([]byte("x"), injectSize)) {
				t.Errorf("%s: %s has %d headers, want %d, and its old content", v.Name, name, n, injectPerFile)
			}
		}
	}
	if full := inject(injectFiles); full.Ops != 100_000 {
		t.Errorf("the full set has %d injections", full.Ops)
	}
}

// Each promise has a baseline outside Stele. The first is the usual way.
func TestHeaderBaselines(t *testing.T) {
	for _, e := range Full() {
		for _, v := range e.Variants {
			base := e.BaselineFor(v.Promise)
			if base == nil || strings.HasPrefix(base.Name, "Insert") {
				t.Errorf("%s compares %s with %v", e.ID(), v.Name, base)
			}
		}
		if e.Variants[0].Name != "read and rewrite" {
			t.Errorf("%s begins with %s", e.ID(), e.Variants[0].Name)
		}
	}
}

// A file that has lost its header, or its content, is not measured as fast.
func TestHeaderFilesNoticeLoss(t *testing.T) {
	head := Head(16)
	for what, insert := range map[string]func(name string, head []byte) error{
		"nothing":   func(string, []byte) error { return nil },
		"over":      func(name string, head []byte) error { return writeAtHead(name, head) },
		"head only": func(name string, head []byte) error { return os.WriteFile(name, head, 0o644) },
		"other contents": func(name string, head []byte) error {
			return os.WriteFile(name, append(head, make([]byte, 2<<10)...), 0o644)
		},
	} {
		files, err := makeFiles(t.TempDir(), 1, 1<<10, 16, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := insert(files.names[0], bytes.Clone(head)); err != nil {
			t.Fatal(err)
		}
		if _, err := files.readAll(head); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func writeAtHead(name string, head []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(head, 0)
	return errors.Join(err, f.Close())
}

func TestHeaderWaysKeepTheirPromise(t *testing.T) {
	for _, w := range insertWays() {
		power := strings.HasSuffix(w.Name, " power") || strings.HasSuffix(w.Name, " + fsync")
		if power != (w.Promise.Level == durability.Power) {
			t.Errorf("%s promises %v", w.Name, w.Promise)
		}
	}
}

func TestHeaderWrongParameters(t *testing.T) {
	for _, p := range []run.Params{{"size": "2GiB", "header": "128"}, {"size": "1KiB", "header": "0"}, {"size": "1KiB"}} {
		j := insert("1KiB", "128", datafile.Warm)
		e := j.Build()
		e.Params = p
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
			t.Errorf("%v gave no error", p)
		}
	}
}
