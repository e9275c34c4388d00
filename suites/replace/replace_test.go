package replace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// smallReplace makes an experiment of suite replace small enough for a test.
func smallReplace(e lab.Experiment) lab.Experiment {
	p := run.Params{"size": "5000"}
	for name, want := range map[string]string{"files": "3", "writers": "4"} {
		if e.Params[name] != "" {
			p[name] = want
		}
	}
	e.Params = p
	return e
}

// Every variant leaves the files and the content that the baseline leaves
// from the same seed, and no temporary file.
func TestReplaceVariantsLeaveTheSameFiles(t *testing.T) {
	for _, e := range Full() {
		if e.Params["size"] != strconv.Itoa(smallFile) || e.Params["files"] == "512" {
			continue // the same jobs
		}
		e := smallReplace(e)
		t.Run(e.ID(), func(t *testing.T) {
			t.Parallel()
			var want map[string]filetest.File
			for i := range e.Variants {
				dir := t.TempDir()
				if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], dir, 9, 7); err != nil {
					t.Errorf("%s: %v", e.Variants[i].Name, err)
					continue
				}
				got := filetest.Files(t, dir)
				if i == 0 {
					want = got
				}
				if len(got) != len(want) {
					t.Errorf("%s left %d files, the baseline %d", e.Variants[i].Name, len(got), len(want))
				}
				for name, f := range want {
					if got[name] != f || len(f.Content) != 5000 {
						t.Errorf("%s: %s differs from the baseline's: %d bytes, %v; want %d, %v",
							e.Variants[i].Name, name, len(got[name].Content), got[name].Mode, len(f.Content), f.Mode)
					}
				}
			}
		})
	}
}

// A way that leaves another mode does another job.
func TestReplaceWaysLeaveTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for _, w := range manyFilesWays() {
		dir := t.TempDir()
		names, err := oldFiles(dir, 1, []byte("old"))
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(filepath.Join(dir, names[0]))
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Open(job.Site{Dir: dir})
		if err != nil {
			t.Fatal(w.Name, err)
		}
		if err := errors.Join(r.batch(names, []byte("new")), r.close()); err != nil {
			t.Error(w.Name, err)
		}
		after, err := os.Stat(filepath.Join(dir, names[0]))
		if err != nil || after.Mode() != before.Mode() || os.SameFile(before, after) != (w.Promise.After == durability.Torn) {
			t.Errorf("%s made %v of %v, or wrote into the old file: %v", w.Name, after.Mode(), before.Mode(), err)
		}
	}
}

// The files are replaced, not found as they were prepared: a way that does
// nothing would pass the test above, as new and old content are the same.
func TestReplaceWaysReplace(t *testing.T) {
	for _, w := range manyFilesWays() {
		dir := t.TempDir()
		names, err := oldFiles(dir, 2, []byte("old content"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Open(job.Site{Dir: dir})
		if err != nil {
			t.Fatal(w.Name, err)
		}
		if err := r.batch(names, []byte("new")); err != nil {
			t.Error(w.Name, err)
		}
		if got := filetest.Files(t, dir); len(got) != 2 || got["0"].Content != "new" || got["1"].Content != "new" {
			t.Errorf("%s left %v", w.Name, got)
		}
		if err := r.close(); err != nil {
			t.Error(w.Name, err)
		}
	}
}

// What is compared promises the same, and is compared with the plain sequence.
func TestReplaceBaselines(t *testing.T) {
	want := map[run.Promise]string{
		job.Promise(durability.Power, durability.OldOrNew): plainPower,
		job.Promise(durability.Kill, durability.OldOrNew):  "write, rename",
		job.Promise(durability.Kill, durability.Torn):      "os.WriteFile",
	}
	for _, e := range Full() {
		for _, v := range e.Variants {
			if base := e.BaselineFor(v.Promise); base.Name != want[v.Promise] {
				t.Errorf("%s: %s is compared with %q", e.ID(), v.Name, base.Name)
			}
		}
	}
}

func TestReplaceFailures(t *testing.T) {
	e := smallReplace(Full()[0])
	for i := range e.Variants {
		dir := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(dir, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[i], dir, 1, 7); err == nil {
			t.Errorf("%s gave no error below a file", e.Variants[i].Name)
		}
	}
	// A directory that has the name: it cannot be replaced by a file.
	for _, w := range manyFilesWays() {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "0", "below"), 0o755); err != nil {
			t.Fatal(err)
		}
		r, err := w.Open(job.Site{Dir: dir})
		if err != nil {
			t.Fatal(w.Name, err)
		}
		if err := r.batch([]string{"0"}, []byte("new")); err == nil {
			t.Errorf("%s replaced a directory", w.Name)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%s left %v, %v", w.Name, entries, err)
		}
		if err := r.close(); err != nil {
			t.Error(w.Name, err)
		}
	}
	for _, name := range []string{"size", "writers"} {
		for _, value := range []string{"", "0", "-1", "many", "99999999999"} {
			j := byWriters(16, smallFile)
			e := smallReplace(j.Build())
			e.Params[name] = value
			_, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
}
