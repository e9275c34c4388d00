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
// umask) or else keeps the permissions, the ACL and the owner of the file that
// is there, and makes no folder. It differs because the name gets a new file:
//
//   - Other hard links to the file, and whoever has it open, keep the old
//     content. Extended attributes are not kept (see Options.Keep).
//   - Set-user-ID and set-group-ID bits stay, which a write in place clears
//     unless the writer is privileged (CAP_FSETID).
//   - It needs write permission on the folder, and none on the file.
//   - What is no regular file, a device or a FIFO, is refused.
//   - A file that cannot be given its old owner again is left as it is, with
//     an error.
//
// It takes 10 system calls where there is no file, 13 where there is one that
// is its owner's alone, and 14 where others may use it; one more each if its
// owner is another, and if the new file cannot be created with its permissions,
// for the umask or as the group may do what others may not; and more for a
// symlink.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	return WriteFileWith(name, data, perm, Options{Keep: likeOS, Links: FollowLinks})
}

// WriteFileWith gives the file name new content, all or nothing: after a crash
// at any time it holds the old content or the new (durability.OldOrNew), and
// once WriteFileWith has returned nil, the new, which survives what
// Options.Level says, Power unless set. It is Create, Write and Commit. So
// unlike WriteFile it gives the file perm, less what an old file denied, unless
// Options.Keep says otherwise; and by default it replaces a symlink.
func WriteFileWith(name string, data []byte, perm fs.FileMode, o Options) error {
	f, err := Create(name, perm, o)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// writeAll writes the content and commits it.
func (f *File) writeAll(data []byte) error {
	f.brief = true
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
//
// Of the Options only Level, Root and OneMount matter.
func Exchange(a, b string, o Options) error {
	o = Options{Level: o.Level, Root: o.Root, OneMount: o.OneMount}
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
	if err := exchange(in, nameA, other, nameB, a); err != nil || o.Level != durability.Power {
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
// Linux the owner cannot be kept.
const likeOS = (KeepMode | KeepOwner | KeepACL) & canKeep
