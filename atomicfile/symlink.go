package atomicfile

import (
	"io/fs"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tempfile"
)

// Symlink has the name lead to target, at once: whoever follows it meanwhile
// comes to the old target or the new, and after a crash at any time it leads to
// one of them (durability.OldOrNew). Once Symlink has returned nil, it is the
// new, which survives what Options.Level says, Power unless set. If it fails,
// the name is as it was, but see ErrNotDurable.
//
// The new symlink takes the place of a symlink or of a regular file. It is an
// error if name is anything else, if it is a symlink and Options.Links is
// RefuseLinks, or if it is there at all and Options.NoReplace is set. Options.Keep
// does not matter: there is nothing to keep of a symlink.
//
// target is taken as it is, and may lead anywhere, also below Options.Root.
func Symlink(target, name string, o Options) error {
	at, base, err := locate(name, o)
	if err != nil {
		return &fs.PathError{Op: "symlink", Path: name, Err: err}
	}
	defer at.release()
	return symlink(at, target, base, name, o)
}

func symlink(at *folder, target, base, path string, o Options) error {
	fail := func(err error) error { return &fs.PathError{Op: "symlink", Path: path, Err: err} }
	if !o.NoReplace {
		if _, err := at.look(base, o.Links); err != nil {
			return fail(err)
		}
	}
	temp, err := tempfile.Symlink(at.dir, o.pattern(), target)
	if err != nil {
		return fail(err)
	}
	if err := at.rename(temp, base, o); err != nil {
		at.dir.Remove(temp) // else Sweep does
		return fail(err)
	}
	if o.Level == durability.Power {
		return at.sync()
	}
	return nil
}
