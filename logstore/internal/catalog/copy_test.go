package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// copyOf opens a catalog of the segments that CopyTo has made in dir.
func copyOf(t *testing.T, dir string, o Options) *Catalog {
	t.Helper()
	to := t.TempDir()
	if err := os.Rename(dir, filepath.Join(to, SegmentDir)); err != nil {
		t.Fatal(err)
	}
	return open(t, to, o)
}

func mkdirTemp(t *testing.T, in string) string {
	t.Helper()
	dir, err := os.MkdirTemp(in, "stele-copy-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A snapshot is copied as it was, though its segments are compacted and deleted before
// that; one that cannot be read is copied too, and salvaged from there.
func TestCopyTo(t *testing.T) {
	for _, p := range publishers {
		t.Run(p.name, func(t *testing.T) {
			o, _ := testOptions()
			dir, first, second := twoSegments(t, o, p.publish)
			third := rowsOf(1e18+2e12, 40, "e")
			s := open(t, dir, o)
			p.publish(t, s, 1, third)
			closeCatalog(t, s)
			path := filepath.Join(dir, SegmentDir, (positions{2, 3, 0}).String())
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-20] ^= 1
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			o.Truncated = 3
			s = open(t, dir, o)
			n := s.WholeSnapshot()
			if len(n.Holdings()) != 3 || len(n.unreadable) != 1 {
				t.Fatalf("%v, %d of them unreadable", n.Holdings(), len(n.unreadable))
			}
			if err := s.CompactAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.CompactAll(t.Context()); err != nil { // salvaged by now
				t.Fatal(err)
			}
			linked := mkdirTemp(t, t.TempDir())
			got, err := n.CopyTo(t.Context(), linked)
			if err != nil || got.Segments != 3 || got.Linked != 3 || got.Bytes == 0 || got.CopiedBytes != 0 {
				t.Errorf("%+v, %v", got, err)
			}
			n.Release()
			if err := s.CompactAll(t.Context()); err != nil { // now the salvage too
				t.Fatal(err)
			}
			if names := namesIn(t, dir, SegmentDir); len(names) != 1 {
				t.Errorf("the store has %v", names)
			}
			want := served(t, s)
			c := copyOf(t, linked, o)
			defer closeCatalog(t, c)
			maintain(t, c)
			equalLines(t, "the copy", served(t, c), want)
			equalLines(t, "the copy", want, sortedLines(first, second, third))
			closeCatalog(t, s)
		})
	}
}

// Where nothing can be linked, bytes are copied; a context that is done ends it.
func TestCopyToElsewhere(t *testing.T) {
	o, _ := testOptions()
	dir, first, second := twoSegments(t, o, publish)
	s := open(t, dir, o)
	defer closeCatalog(t, s)
	n := s.WholeSnapshot()
	defer n.Release()
	to := mkdirTemp(t, "/dev/shm")
	got, err := n.CopyTo(t.Context(), to)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil || got.Segments != 2 || got.Linked+got.Cloned == 2 && got.CopiedBytes > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, name := range namesIn(t, dir, SegmentDir) {
		a, err := os.ReadFile(filepath.Join(dir, SegmentDir, name))
		b, err2 := os.ReadFile(filepath.Join(to, name))
		if err := errors.Join(err, err2); err != nil || !slices.Equal(a, b) {
			t.Errorf("%s differs, %v", name, err)
		}
	}
	cause := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := n.CopyTo(ctx, mkdirTemp(t, "/dev/shm")); !errors.Is(err, cause) {
		t.Errorf("a context that is done: %v", err)
	}
	// Segments that were made in memory.
	r, err := OpenReadOnly(t.Context(), dir, 1<<20, o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeCatalog(t, r)
	third := rowsOf(1e18+2e12, 40, "e")
	publish(t, r, 1, third)
	m := r.WholeSnapshot()
	defer m.Release()
	made := mkdirTemp(t, t.TempDir())
	if got, err := m.CopyTo(t.Context(), made); err != nil || got.Linked != 2 || got.Segments != 3 || got.CopiedBytes == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	c := copyOf(t, made, o)
	defer closeCatalog(t, c)
	equalLines(t, "with one of memory", served(t, c), sortedLines(first, second, third))
}
