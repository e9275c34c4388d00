package wal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/wal"
)

// A file that is not regular, under a name of the log, is reported at once, and
// nothing in the directory changes.
func TestIrregular(t *testing.T) {
	const first = "0000000000000001.wal"
	for _, name := range []string{"META", "LOCK", first, "0000000000000002.wal", "0000000000000003.new", "META.new"} {
		for kind, put := range filetest.Irregular(t) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Chdir(t.TempDir()) // a socket's path is short
				dir := "log"
				l, err := wal.Open(dir, wal.Options{SegmentSize: 64 << 10, Spares: 1})
				if err != nil {
					t.Fatal(err)
				}
				_, err = l.Append(t.Context(), []byte("record"))
				if err = errors.Join(err, l.Close()); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, name)
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				if err := put(path); err != nil {
					t.Fatal(err)
				}
				before := modes(t, dir)
				reported := func(what string, err error) {
					t.Helper()
					c, ok := errors.AsType[*wal.CorruptError](err)
					if !ok || c.File != path || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), "move it away") {
						t.Errorf("%s: %v; want damage of %s, that it is %s, and what to do", what, err, path, kind)
					}
				}
				_, err = wal.Open(dir, wal.Options{})
				reported("Open", err)
				_, err = wal.Verify(dir)
				reported("Verify", err)
				in, err := wal.Inspect(dir)
				if err != nil {
					t.Fatal(err)
				}
				found := in.MetaErr
				for s := range in.Segments() {
					if s.File == path {
						found = s.Err
					}
				}
				for _, err := range in.Records(0) {
					if name == first {
						reported("Records", err)
					}
				}
				if name == "META" || filepath.Ext(name) == ".wal" {
					reported("Inspect", found)
				}
				if after := modes(t, dir); after != before {
					t.Errorf("the directory had %s, and has %s", before, after)
				}
			})
		}
	}
}

// modes returns the names in dir and their modes.
func modes(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Name() != "LOCK" { // Open creates it
			b.WriteString(e.Name() + " " + e.Type().String() + "; ")
		}
	}
	return b.String()
}

// A FIFO that replaces a segment while the log is open is not waited for.
func TestIrregularMeanwhile(t *testing.T) {
	dir := t.TempDir()
	l, err := wal.Open(dir, wal.Options{SegmentSize: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	record := make([]byte, 16<<10)
	for range 8 { // more than one segment has
		if _, err := l.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "0000000000000001.wal")
	if err := errors.Join(os.Remove(name), unix.Mkfifo(name, 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := l.Reader(0)
	if err == nil {
		_, err = r.Next()
		r.Close()
	}
	if c, ok := errors.AsType[*wal.CorruptError](err); !ok || c.File != name {
		t.Errorf("%v; want damage of %s", err, name)
	}
}
