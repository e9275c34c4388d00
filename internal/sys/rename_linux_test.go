package sys

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Both ways to link an unnamed file work: that of a process with CAP_DAC_READ_SEARCH or a
// new kernel, and the other.
func TestLinkFile(t *testing.T) {
	defer noEmptyPath.Store(noEmptyPath.Load())
	d, name := openDir(t, ForPath)
	for _, way := range []struct {
		file string
		proc bool
	}{{"a", false}, {"b", true}} {
		f, err := d.OpenUnnamed(name, 0o600)
		if Absent(err) {
			t.Skip("no unnamed files here: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(way.file); err != nil {
			t.Fatal(err)
		}
		noEmptyPath.Store(way.proc)
		if err := d.LinkFile(f, way.file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(name, way.file)); err != nil || string(got) != way.file {
			t.Errorf("%s holds %q, %v", way.file, got, err)
		}
		if err := d.LinkFile(f, way.file); err != unix.EEXIST {
			t.Errorf("linking to a name that is there: %v", err)
		}
		if err := d.LinkFile(f, "no/x"); err != unix.ENOENT {
			t.Errorf("linking into nothing: %v", err)
		}
	}
}

func TestExchange(t *testing.T) {
	d, name := openDir(t, ForPath)
	e, other := openDir(t, ForPath)
	for path, content := range map[string]string{filepath.Join(name, "a"): "A", filepath.Join(other, "b"): "B"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Exchange("a", e, "b"); err != nil {
		t.Skip("no RENAME_EXCHANGE here: ", err)
	}
	if b, err := os.ReadFile(filepath.Join(name, "a")); string(b) != "B" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := d.Exchange("no", e, "b"); err != unix.ENOENT {
		t.Errorf("got %v", err)
	}
}
