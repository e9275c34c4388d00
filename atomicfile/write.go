package atomicfile

import (
	"errors"
	"io/fs"

	"github.com/stele-go/stele/durability"
)

// WriteFile does what os.WriteFile does, all or nothing: after a crash at any
// time the file holds the old content or the new (durability.OldOrNew), and
// once WriteFile has returned nil it holds the new, which survives a power cut
// (durability.Power). If it fails, the file is as it was, but see
// ErrNotDurable.
//
// As os.WriteFile it follows a symlink, creates a file with perm (before
// umask) or else keeps the permissions and the owner of the file that is
// there, and makes no folder. It differs because the name gets a new file:
//
//   - Other hard links to the file, and whoever has it open, keep the old
//     content. Extended attributes and ACLs are not kept (see Options.Keep).
//   - It needs write permission on the folder, and none on the file.
//   - What is no regular file, a device or a FIFO, is refused.
//   - A file that cannot be given its old owner again is left as it is, with
//     an error.
//
// It takes 9 system calls where there is no file and 10 where there is one, 2
// more at most if its permissions do not pass the umask or its owner is
// another, and more for a symlink.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := Create(name, perm, Options{Keep: likeOS, Links: FollowLinks})
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// writeAll writes the content and commits it.
func (f *File) writeAll(data []byte) error {
	if len(data) > 0 {
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	return f.Commit()
}

// Exchange has the files a and b change names, at once: nobody ever finds one
// name missing, or both of them leading to one file. At level Power the new
// names survive a power cut once it has returned; what the files hold is not
// synced. If it fails the names are as they were, but see ErrNotDurable.
//
// A symlink is exchanged, not followed. It needs Linux and a file system that
// knows RENAME_EXCHANGE; else it fails with errors.ErrUnsupported or EINVAL.
func Exchange(a, b string, level durability.Level) error {
	o := Options{Level: level}
	in, nameA, err := locate(a, o)
	if err != nil {
		return &fs.PathError{Op: "exchange", Path: a, Err: err}
	}
	defer in.release()
	other, nameB, err := locate(b, o)
	if err != nil {
		return &fs.PathError{Op: "exchange", Path: b, Err: err}
	}
	defer other.release()
	if err := exchange(in, nameA, other, nameB, a); err != nil || level != durability.Power {
		return err
	}
	return errors.Join(in.sync(), other.sync())
}

func exchange(in *folder, a string, other *folder, b, path string) error {
	if err := in.dir.Exchange(a, other.dir, b); err != nil {
		return &fs.PathError{Op: "exchange", Path: path, Err: err}
	}
	return nil
}

// likeOS is what os.WriteFile, which truncates the file, leaves as it is. Off
// Linux the owner is not known.
const likeOS = (KeepMode | KeepOwner) & canKeep
