package states_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
)

// after runs work and returns the states that a crash after its end may leave.
func after(t *testing.T, model states.Model, base *states.FS, work func(fsys *states.FS) error) []string {
	t.Helper()
	h, err := states.RecordFS(base, func(fsys *states.FS, ack func(bool)) error {
		err := work(fsys)
		ack(true)
		return err
	})
	must(t, err)
	var seen []string
	rep := h.CheckFS(states.Options{Model: model}, func(fsys *states.FS, acked []bool) error {
		if len(acked) > 0 {
			state, err := render(fsys)
			if err != nil {
				return err
			}
			seen = append(seen, state)
		}
		return nil
	})
	if rep.Err() != nil || !rep.Exhaustive {
		t.Fatal(rep)
	}
	slices.Sort(seen)
	return slices.Compact(seen)
}

// put writes a file, and syncs as it is told.
func put(fsys *states.FS, name, data string, sync func(*states.File) error) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(data))
	return errors.Join(err, sync(f), f.Close())
}

func unsynced(*states.File) error { return nil }

// Each row is a rule of the models' documentation.
func TestModels(t *testing.T) {
	fsync, fdatasync := (*states.File).Sync, (*states.File).Datasync
	old, now := strings.Repeat("o", 1024), strings.Repeat("n", 1024)
	half := func(a, b string) string { return `f="` + a[:512] + b[512:] + `"` }
	for _, c := range []struct {
		name      string
		base      map[string]string // "d/" is a directory
		work      func(fsys *states.FS) error
		posix     []string
		journaled []string
	}{
		{
			name:      "a new file, nothing synced",
			work:      func(fsys *states.FS) error { return put(fsys, "f", "ab", unsynced) },
			posix:     []string{``, `f=""`, `f="\x00\x00"`, `f="ab"`},
			journaled: []string{``, `f=""`, `f="\x00\x00"`, `f="ab"`},
		},
		{
			name:      "a new file, fsync: its name is not covered, but ext4 and XFS write it too",
			work:      func(fsys *states.FS) error { return put(fsys, "f", "ab", fsync) },
			posix:     []string{``, `f="ab"`},
			journaled: []string{`f="ab"`},
		},
		{
			name:      "a new file, its directory synced: its content is not covered",
			work:      func(fsys *states.FS) error { return errors.Join(put(fsys, "f", "ab", unsynced), fsys.SyncDir(".")) },
			posix:     []string{`f=""`, `f="\x00\x00"`, `f="ab"`},
			journaled: []string{`f=""`, `f="\x00\x00"`, `f="ab"`},
		},
		{
			name:      "a new file, both synced",
			work:      func(fsys *states.FS) error { return errors.Join(put(fsys, "f", "ab", fdatasync), fsys.SyncDir(".")) },
			posix:     []string{`f="ab"`},
			journaled: []string{`f="ab"`},
		},
		{
			name:      "two sectors overwritten: torn between them",
			base:      map[string]string{"f": old},
			work:      func(fsys *states.FS) error { return put(fsys, "f", now, unsynced) },
			posix:     []string{half(now, now), half(now, old), half(old, now), half(old, old)},
			journaled: []string{half(now, now), half(now, old), half(old, now), half(old, old)},
		},
		{
			name:      "appended: the size may come before the data",
			base:      map[string]string{"f": "o"},
			work:      func(fsys *states.FS) error { return appendTo(fsys, "f", "n") },
			posix:     []string{`f="o"`, `f="o\x00"`, `f="on"`},
			journaled: []string{`f="o"`, `f="o\x00"`, `f="on"`},
		},
		{
			name:      "two appends: any of them",
			base:      map[string]string{"f": ""},
			work:      func(fsys *states.FS) error { return errors.Join(appendTo(fsys, "f", "a"), appendTo(fsys, "f", "b")) },
			posix:     []string{`f=""`, `f="\x00"`, `f="\x00\x00"`, `f="\x00b"`, `f="a"`, `f="a\x00"`, `f="ab"`},
			journaled: []string{`f=""`, `f="\x00"`, `f="\x00\x00"`, `f="\x00b"`, `f="a"`, `f="a\x00"`, `f="ab"`},
		},
		{
			name: "renamed over a file without a sync of the new one: empty",
			base: map[string]string{"f": "o"},
			work: func(fsys *states.FS) error {
				return errors.Join(put(fsys, "t", "n", unsynced), fsys.Rename("t", "f"), fsys.SyncDir("."))
			},
			posix:     []string{`f=""`, `f="\x00"`, `f="n"`},
			journaled: []string{`f=""`, `f="\x00"`, `f="n"`},
		},
		{
			name:      "renamed to another directory: both names, or none",
			base:      map[string]string{"a": "x", "d/": ""},
			work:      func(fsys *states.FS) error { return fsys.Rename("a", "d/b") },
			posix:     []string{`a="x" d/`, `a="x" d/ d/b="x"`, `d/`, `d/ d/b="x"`},
			journaled: []string{`a="x" d/`, `d/ d/b="x"`},
		},
		{
			name:      "renamed to another directory, which is synced",
			base:      map[string]string{"a": "x", "d/": ""},
			work:      func(fsys *states.FS) error { return errors.Join(fsys.Rename("a", "d/b"), fsys.SyncDir("d")) },
			posix:     []string{`a="x" d/ d/b="x"`, `d/ d/b="x"`},
			journaled: []string{`d/ d/b="x"`},
		},
		{
			name:      "a directory renamed to another moves as a whole",
			base:      map[string]string{"d/": "", "e/": "", "e/f": "x"},
			work:      func(fsys *states.FS) error { return fsys.Rename("e", "d/e") },
			posix:     []string{`d/ d/e/ d/e/f="x"`, `d/ e/ e/f="x"`},
			journaled: []string{`d/ d/e/ d/e/f="x"`, `d/ e/ e/f="x"`},
		},
		{
			name: "a file in a new directory, both synced, but not the name of the directory",
			work: func(fsys *states.FS) error {
				return errors.Join(fsys.Mkdir("d", 0o755), put(fsys, "d/f", "x", fsync), fsys.SyncDir("d"))
			},
			posix:     []string{``, `d/ d/f="x"`},
			journaled: []string{`d/ d/f="x"`},
		},
		{
			name:      "two names: independent, but in order on a journal",
			work:      func(fsys *states.FS) error { return errors.Join(fsys.Mkdir("a", 0o755), fsys.Mkdir("b", 0o755)) },
			posix:     []string{``, `a/`, `a/ b/`, `b/`},
			journaled: []string{``, `a/`, `a/ b/`},
		},
		{
			name: "changes of one name are in order",
			base: map[string]string{"f": "1"},
			work: func(fsys *states.FS) error {
				return errors.Join(fsys.Rename("f", "g"), fsys.Rename("g", "h"), fsys.Remove("h"))
			},
			posix:     []string{``, `f="1"`, `g="1"`, `h="1"`},
			journaled: []string{``, `f="1"`, `g="1"`, `h="1"`},
		},
		{
			name: "emptied and written: what is written is not there without that",
			base: map[string]string{"f": "old"},
			work: func(fsys *states.FS) error {
				return errors.Join(fsys.Truncate("f", 0), put(fsys, "f", "n", unsynced))
			},
			posix:     []string{`f=""`, `f="\x00"`, `f="n"`, `f="old"`},
			journaled: []string{`f=""`, `f="\x00"`, `f="n"`, `f="old"`},
		},
		{
			name:      "removed",
			base:      map[string]string{"f": "x"},
			work:      func(fsys *states.FS) error { return fsys.Remove("f") },
			posix:     []string{``, `f="x"`},
			journaled: []string{``, `f="x"`},
		},
		{
			name: "all synced",
			base: map[string]string{"f": "x"},
			work: func(fsys *states.FS) error {
				return errors.Join(fsys.Mkdir("d", 0o755), fsys.Rename("f", "d/f"), appendTo(fsys, "d/f", "y"), fsys.SyncFS())
			},
			posix:     []string{`d/ d/f="xy"`},
			journaled: []string{`d/ d/f="xy"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := states.NewFS()
			for _, name := range slices.Sorted(maps.Keys(c.base)) {
				if dir, is := strings.CutSuffix(name, "/"); is {
					must(t, base.Mkdir(dir, 0o755))
				} else {
					must(t, base.WriteFile(name, []byte(c.base[name]), 0o600))
				}
			}
			for model, want := range map[states.Model][]string{states.POSIX: c.posix, states.Journaled: c.journaled} {
				if got := after(t, model, base, c.work); !slices.Equal(got, want) {
					t.Errorf("%v: a crash may leave\n\t%s\nwant\n\t%s", model, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
				}
			}
		})
	}
}

func appendTo(fsys *states.FS, name, data string) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(data))
	return errors.Join(err, f.Close())
}

// fdatasync leaves the mode out, fsync does not.
func TestModelsAttributes(t *testing.T) {
	for _, c := range []struct {
		sync func(*states.File) error
		want int
	}{{(*states.File).Datasync, 2}, {(*states.File).Sync, 1}} {
		base := states.NewFS()
		must(t, base.WriteFile("f", nil, 0o600))
		h, err := states.RecordFS(base, func(fsys *states.FS, ack func(bool)) error {
			err := errors.Join(fsys.Chmod("f", 0o640), put(fsys, "f", "", c.sync))
			ack(true)
			return err
		})
		must(t, err)
		modes := map[os.FileMode]bool{}
		h.CheckFS(states.Options{}, func(fsys *states.FS, acked []bool) error {
			fi, err := fsys.Stat("f")
			if len(acked) > 0 {
				modes[fi.Mode()] = true
			}
			return err
		})
		if len(modes) != c.want {
			t.Errorf("the file may have the modes %v, want %d of them", modes, c.want)
		}
	}
}

// O_SYNC writes are durable when they return.
func TestModelsOSync(t *testing.T) {
	base := states.NewFS()
	must(t, base.WriteFile("f", nil, 0o600))
	got := after(t, states.POSIX, base, func(fsys *states.FS) error {
		f, err := fsys.OpenFile("f", os.O_WRONLY|os.O_SYNC, 0)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte("x"))
		return errors.Join(err, f.Close())
	})
	if !slices.Equal(got, []string{`f="x"`}) {
		t.Errorf("a crash may leave %q", got)
	}
}

// A failure is reduced to the losses that it needs, and its ID makes it again.
func TestStateFailure(t *testing.T) {
	h, err := states.RecordFS(nil, func(fsys *states.FS, ack func(int)) error {
		for i := range 12 {
			if err := put(fsys, fmt.Sprint("f", i), strings.Repeat("x", 2000), unsynced); err != nil {
				return err
			}
		}
		return fsys.SyncDir(".")
	})
	must(t, err)
	// Only the loss of two of the contents together is one.
	check := func(fsys *states.FS, _ []int) error {
		a, errA := fsys.ReadFile("f3")
		b, errB := fsys.ReadFile("f7")
		if errA == nil && errB == nil && len(a) == 0 && len(b) == 0 {
			return errLost
		}
		return nil
	}
	rep := h.CheckFS(states.Options{Max: 5000, Seed: 1}, check)
	if rep.Exhaustive || rep.Seed != 1 || !rep.AtLeast || rep.Failed == 0 || !errors.Is(rep.Err(), errLost) {
		t.Fatalf("%+v", rep)
	}
	want := []string{"write f3 [0, 2000): lost", "write f7 [0, 2000): lost"}
	if got := rep.Failures[0].Lost; !slices.Equal(got, want) {
		t.Errorf("it fails for want of %q, want %q", got, want)
	}
	again := h.CheckFS(states.Options{Only: rep.Failures[0].ID}, check)
	if again.Checked != 1 || again.Failed != 1 || !slices.Equal(again.Failures[0].Lost, want) {
		t.Errorf("%s brings back %+v", rep.Failures[0].ID, again)
	}
	same := h.CheckFS(states.Options{Max: 5000, Seed: 1}, check)
	if same.String() != rep.String() {
		t.Errorf("the same seed finds\n%v\nafter\n%v", same, rep)
	}
	for _, id := range []string{"", "x", "3:", "3:1,1,1*", "99:1", "1:7", ":"} {
		if id == "" {
			continue
		}
		if rep := h.CheckFS(states.Options{Only: id}, check); rep.Broken == nil || rep.Err() == nil {
			t.Errorf("the ID %q is taken: %v", id, rep)
		}
	}
}

// Each sync of a history can be left out. States fail if it was needed.
func TestStatesOnSync(t *testing.T) {
	h, err := states.RecordFS(nil, func(fsys *states.FS, ack func(bool)) error {
		err := errors.Join(put(fsys, "t", "x", (*states.File).Sync), fsys.Rename("t", "f"), fsys.SyncDir("."))
		ack(true)
		return errors.Join(err, put(fsys, "f", "x", (*states.File).Datasync))
	})
	must(t, err)
	check := func(fsys *states.FS, acked []bool) error {
		if b, err := fsys.ReadFile("f"); len(acked) > 0 && string(b) != "x" {
			return fmt.Errorf("f holds %q, %w: %w", b, err, errLost)
		}
		return nil
	}
	var seen []crashtest.Sync
	for i, needed := range []bool{true, true, false} {
		rep := h.CheckFS(states.Options{OnSync: func(s crashtest.Sync) crashtest.SyncFault {
			seen = append(seen, s)
			if s.N == i {
				return crashtest.SkipSync
			}
			return crashtest.NoFault
		}}, check)
		if errors.Is(rep.Err(), errLost) != needed {
			t.Errorf("without %v: %v", seen[i], rep)
		}
	}
	if want := []crashtest.Sync{{N: 0, Call: "fsync", Path: "t"}, {N: 1, Call: "fsync", Path: "."}, {N: 2, Call: "fdatasync", Path: "f"}}; !slices.Equal(seen[:3], want) {
		t.Errorf("syncs %v, want %v", seen[:3], want)
	}
	if rep := h.CheckFS(states.Options{}, check); rep.Err() != nil {
		t.Error(rep)
	}
}
