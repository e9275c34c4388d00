package states_test

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest/states"
)

// smallPrograms are tiny programs. The lists of what a crash after their end may leave
// were made by hand from the rules of the models. A letter is a sector of 512 such bytes,
// a dot one of zeros.
var smallPrograms = []struct {
	name             string
	base             []string // "name=letters", or "name/"
	work             func(p smallProgram) error
	posix, journaled string // states, separated by "; "
}{
	{
		name: "write, fdatasync, write: the first stays, the second is torn",
		base: []string{"f=oo"},
		work: func(p smallProgram) error {
			return errors.Join(p.write("f", 0, "aa", true), p.write("f", 0, "bb", false))
		},
		posix: "f=aa; f=ab; f=ba; f=bb", journaled: "f=aa; f=ab; f=ba; f=bb",
	},
	{
		name:      "three sectors: each by itself",
		base:      []string{"f=ooo"},
		work:      func(p smallProgram) error { return p.write("f", 0, "nnn", false) },
		posix:     "f=nnn; f=nno; f=non; f=noo; f=onn; f=ono; f=oon; f=ooo",
		journaled: "f=nnn; f=nno; f=non; f=noo; f=onn; f=ono; f=oon; f=ooo",
	},
	{
		name:      "two sectors appended: with the old size, the new one, or one between",
		base:      []string{"f=o"},
		work:      func(p smallProgram) error { return p.write("f", 512, "nn", false) },
		posix:     "f=o; f=o..; f=o.n; f=on; f=on.; f=onn",
		journaled: "f=o; f=o..; f=o.n; f=on; f=on.; f=onn",
	},
	{
		name: "writes that overlap: each sector has any of its versions",
		base: []string{"f=ooo"},
		work: func(p smallProgram) error {
			return errors.Join(p.write("f", 0, "aa", false), p.write("f", 512, "bb", false))
		},
		posix:     "f=aab; f=aao; f=abb; f=abo; f=aob; f=aoo; f=oab; f=oao; f=obb; f=obo; f=oob; f=ooo",
		journaled: "f=aab; f=aao; f=abb; f=abo; f=aob; f=aoo; f=oab; f=oao; f=obb; f=obo; f=oob; f=ooo",
	},
	{
		name:  "O_DSYNC: nothing is left to chance",
		base:  []string{"f=oo"},
		work:  func(p smallProgram) error { return p.writeWith("f", os.O_SYNC, 0, "nn") },
		posix: "f=nn", journaled: "f=nn",
	},
	{
		name: "create, rename, sync of the directory: the name, not the content",
		work: func(p smallProgram) error {
			return errors.Join(p.create("t", "n", false), p.Rename("t", "f"), p.SyncDir("."))
		},
		posix: "f=; f=.; f=n", journaled: "f=; f=.; f=n",
	},
	{
		name: "create, fsync, rename, sync of the directory",
		work: func(p smallProgram) error {
			return errors.Join(p.create("t", "n", true), p.Rename("t", "f"), p.SyncDir("."))
		},
		posix: "f=n", journaled: "f=n",
	},
	{
		name:  "rename over, no sync of the directory: old or new, never neither",
		base:  []string{"f=o"},
		work:  func(p smallProgram) error { return errors.Join(p.create("t", "n", true), p.Rename("t", "f")) },
		posix: "f=n; f=o; f=o t=n", journaled: "f=n; f=o t=n",
	},
	{
		name:  "link and unlink: in no order, so that both names may be gone",
		base:  []string{"a=x"},
		work:  func(p smallProgram) error { return errors.Join(p.Link("a", "b"), p.Remove("a")) },
		posix: "; a=x; a=x b=x; b=x", journaled: "a=x; a=x b=x; b=x",
	},
	{
		name:  "link, sync of the directory, unlink",
		base:  []string{"a=x"},
		work:  func(p smallProgram) error { return errors.Join(p.Link("a", "b"), p.SyncDir("."), p.Remove("a")) },
		posix: "a=x b=x; b=x", journaled: "a=x b=x; b=x",
	},
	{
		name:  "cut shorter, then longer: zeros come back only after the cut",
		base:  []string{"f=ooo"},
		work:  func(p smallProgram) error { return errors.Join(p.Truncate("f", 512), p.Truncate("f", 1024)) },
		posix: "f=o; f=o.; f=ooo", journaled: "f=o; f=o.; f=ooo",
	},
	{
		name:  "written, then cut shorter: each by itself",
		base:  []string{"f=oo"},
		work:  func(p smallProgram) error { return errors.Join(p.write("f", 0, "nn", false), p.Truncate("f", 512)) },
		posix: "f=n; f=nn; f=no; f=o; f=on; f=oo", journaled: "f=n; f=nn; f=no; f=o; f=on; f=oo",
	},
	{
		name:  "allocated: a size of its own, which fdatasync covers",
		base:  []string{"f=o"},
		work:  func(p smallProgram) error { return errors.Join(p.allocate("f", 1024), p.write("f", 512, "n", true)) },
		posix: "f=on", journaled: "f=on",
	},
	{
		name:  "allocated, and not synced",
		base:  []string{"f=o"},
		work:  func(p smallProgram) error { return p.allocate("f", 1024) },
		posix: "f=o; f=o.", journaled: "f=o; f=o.",
	},
	{
		name: "the wrong directory is synced",
		base: []string{"d/"},
		work: func(p smallProgram) error { return errors.Join(p.create("d/f", "n", true), p.SyncDir(".")) },
		// On a journal the sync of the file has covered its name.
		posix: "d/; d/ d/f=n", journaled: "d/ d/f=n",
	},
	{
		name:  "the wrong directory is synced, after a rename",
		base:  []string{"d/", "d/t=x"},
		work:  func(p smallProgram) error { return errors.Join(p.Rename("d/t", "d/f"), p.SyncDir(".")) },
		posix: "d/ d/f=x; d/ d/t=x", journaled: "d/ d/f=x; d/ d/t=x",
	},
	{
		name:  "a chain of directories, the last one synced: its names hang on the first",
		work:  func(p smallProgram) error { return errors.Join(p.MkdirAll("a/b/c", 0o755), p.SyncDir("a/b")) },
		posix: "; a/; a/ a/b/ a/b/c/", journaled: "a/ a/b/ a/b/c/",
	},
	{
		name:  "a chain of directories, the first one synced: it, and not what is in it",
		work:  func(p smallProgram) error { return errors.Join(p.MkdirAll("a/b", 0o755), p.SyncDir(".")) },
		posix: "a/; a/ a/b/", journaled: "a/ a/b/",
	},
	{
		name:  "a file renamed to another directory, the old one synced: it may be gone",
		base:  []string{"a=x", "d/"},
		work:  func(p smallProgram) error { return errors.Join(p.Rename("a", "d/a"), p.SyncDir(".")) },
		posix: "d/; d/ d/a=x", journaled: "d/ d/a=x",
	},
	{
		name:  "a directory renamed to another one, the new one synced: both names are covered",
		base:  []string{"a/", "d/"},
		work:  func(p smallProgram) error { return errors.Join(p.Rename("a", "d/a"), p.SyncDir("d")) },
		posix: "d/ d/a/", journaled: "d/ d/a/",
	},
	{
		name: "removed and created again: the old file, none, or the new one",
		base: []string{"f=o"},
		work: func(p smallProgram) error { return errors.Join(p.Remove("f"), p.create("f", "n", true)) },
		// The sync covers the content, and on a journal the name.
		posix: "; f=n; f=o", journaled: "f=n",
	},
	{
		name: "a file removed while it is written: what is written does not show",
		base: []string{"f=o"},
		work: func(p smallProgram) error {
			f, err := p.OpenFile("f", os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, writeErr := io.WriteString(f, strings.Repeat("n", 512))
			return errors.Join(p.Remove("f"), p.SyncDir("."), writeErr, f.Close())
		},
		posix: "", journaled: "",
	},
	{
		name:  "overwritten and synced: on a journal too it need not take another name along",
		base:  []string{"f=o"},
		work:  func(p smallProgram) error { return errors.Join(p.Mkdir("d", 0o755), p.write("f", 0, "n", true)) },
		posix: "d/ f=n; f=n", journaled: "d/ f=n; f=n",
	},
	{
		name:  "made longer and synced: on a journal that takes another name along",
		base:  []string{"f=o"},
		work:  func(p smallProgram) error { return errors.Join(p.Mkdir("d", 0o755), p.write("f", 512, "n", true)) },
		posix: "d/ f=on; f=on", journaled: "d/ f=on",
	},
}

func TestSmallPrograms(t *testing.T) {
	for _, c := range smallPrograms {
		t.Run(c.name, func(t *testing.T) {
			base := states.NewFS()
			for _, entry := range c.base {
				if name, letters, file := strings.Cut(entry, "="); file {
					must(t, base.WriteFile(name, []byte(sectors(letters)), 0o600))
				} else {
					must(t, base.Mkdir(strings.TrimSuffix(entry, "/"), 0o755))
				}
			}
			for model, list := range map[states.Model]string{states.POSIX: c.posix, states.Journaled: c.journaled} {
				got := after(t, model, base, func(fsys *states.FS) error { return c.work(smallProgram{fsys}) })
				for i := range got {
					got[i] = letters(got[i])
				}
				want := strings.Split(list, "; ")
				slices.Sort(got)
				if slices.Sort(want); !slices.Equal(got, want) {
					t.Errorf("%v: a crash may leave\n\t%s\nwant\n\t%s", model, strings.Join(got, "; "), strings.Join(want, "; "))
				}
			}
		})
	}
}

// sectors writes each letter out.
func sectors(letters string) string {
	var b strings.Builder
	for _, letter := range letters {
		b.WriteString(strings.Repeat(string(letter), 512))
	}
	return b.String()
}

// letters is the reverse, for what render returns.
func letters(state string) string {
	for _, letter := range []string{"o", "n", "x", "a", "b"} {
		state = strings.ReplaceAll(state, strings.Repeat(letter, 512), letter)
	}
	return strings.ReplaceAll(strings.ReplaceAll(state, strings.Repeat(`\x00`, 512), "."), `"`, "")
}

type smallProgram struct{ *states.FS }

func (p smallProgram) create(name, letters string, sync bool) error {
	f, err := p.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), p.write(name, 0, letters, sync))
}

func (p smallProgram) writeWith(name string, flag int, off int64, letters string) error {
	f, err := p.OpenFile(name, os.O_WRONLY|flag, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(sectors(letters)), off)
	return errors.Join(err, f.Close())
}

// write writes letters and, if sync, calls fdatasync.
func (p smallProgram) write(name string, off int64, letters string, sync bool) error {
	f, err := p.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt([]byte(sectors(letters)), off); err == nil && sync {
		err = f.Datasync()
	}
	return errors.Join(err, f.Close())
}

func (p smallProgram) allocate(name string, size int64) error {
	f, err := p.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Allocate(0, size), f.Close())
}
