package atomicfile

import (
	"io/fs"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tempfile"
)

// Symlink makes name a symlink to target, atomically: a process that follows name
// reaches the old target or the new, and after a crash at any time it leads to one
// of them (durability.OldOrNew). Once Symlink has returned nil it leads to the new,
// durable at Options.Level, Power by default. If Symlink fails the name is
// unchanged, except after ErrNotDurable.
//
// The new symlink replaces a symlink or a regular file. It is an error if name is
// anything else, if it is a symlink and Options.Links is RefuseLinks, or if it
// exists and Options.NoReplace is set. Options.Keep has no effect on symlinks.
//
// target is used as it is, and may lead anywhere, even out of Options.Root.
func Symlink(target, name string, o Options) error {
	at, base, err := locate(name, o)
	if err != nil {
		return &fs.PathError{Op: "symlink", Path: name, Err: err}
	}
	defer at.release()
	return symlink(at, target, base, name, o)
}

func symlink(at *directory, target, base, path string, o Options) error {
	fail := func(err error) error { return &fs.PathError{Op: "symlink", Path: path, Err: err} }
	if !o.NoReplace {
		if _, err := at.lookup(base, o.Links); err != nil {
			return fail(err)
		}
	}
	temp, err := tempfile.Symlink(at.dir, o.pattern(), target)
	if err != nil {
		return fail(err)
	}
	if err := at.rename(temp, base, o); err != nil {
		at.dir.Remove(temp) // if that fails, Sweep removes it
		return fail(err)
	}
	if o.Level == durability.Power {
		return at.sync()
	}
	return nil
}
