package atomicfile

import (
	"errors"
	"io/fs"
	"os"

	"github.com/stele-go/stele/durability"
)

// WriteFile is os.WriteFile made atomic: after a crash at any time the file
// holds the old content or the new (durability.OldOrNew), and once WriteFile has
// returned nil it holds the new, which survives a power cut (durability.Power).
// If it fails the file is unchanged, except after ErrNotDurable.
//
// Like os.WriteFile it follows a symlink, creates a file with perm (before
// umask), keeps the permissions, the ACL and the owner of an existing file, and
// does not create directories. It differs because the name gets a new file:
//
//   - Other hard links to the file, and processes that have it open, keep the
//     old content. Extended attributes are not kept (see Options.Keep).
//   - Set-user-ID and set-group-ID bits stay, which a write in place clears
//     unless the writer is privileged (CAP_FSETID).
//   - It needs write permission on the directory, and none on the file.
//   - It refuses anything but a regular file, such as a device or a FIFO.
//   - If the new file cannot be given the old owner, that is an error, and the
//     old file stays.
//
// It takes 10 system calls for a new file, 13 for an existing one that only its
// owner may use, and 14 for one that others may use; one more if the owner is
// another user, one more if the new file cannot be created with its permissions,
// because of the umask or because the group has permissions that others lack;
// and more for a symlink.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	return WriteFileWith(name, data, perm, Options{Keep: osKeep, Links: FollowLinks})
}

// WriteFileWith replaces the content of the file name all or nothing: after a
// crash at any time it holds the old content or the new (durability.OldOrNew),
// and once WriteFileWith has returned nil, the new, durable at Options.Level,
// Power by default. It is Create, Write and Commit: unlike WriteFile it gives the
// file perm, without the bits that an old file denied, unless Options.Keep says
// otherwise; and by default it replaces a symlink.
func WriteFileWith(name string, data []byte, perm fs.FileMode, o Options) error {
	f, err := Create(name, perm, o)
	if err != nil {
		return err
	}
	return f.writeAll(data)
}

// writeAll writes the content and commits it.
func (f *File) writeAll(data []byte) error {
	f.oneShot = true
	if len(data) > 0 {
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	return f.Commit()
}

// Exchange swaps the names of the files a and b atomically: no process ever
// finds one name missing, or both names leading to one file. At level Power the
// swap survives a power cut once Exchange has returned nil; the content of the
// files is not synced. If it fails the names are unchanged, except after
// ErrNotDurable.
//
// A symlink is swapped, not followed. Exchange needs Linux and a file system with
// RENAME_EXCHANGE; otherwise it fails with errors.ErrUnsupported or EINVAL.
//
// An error of the swap itself is an *os.LinkError with both paths. Of the Options,
// Exchange uses only Level, Root and OneMount.
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
	if err := exchange(in, nameA, other, nameB, a, b); err != nil || o.Level != durability.Power {
		return err
	}
	return errors.Join(in.sync(), other.sync())
}

func exchange(in *directory, a string, other *directory, b, pathA, pathB string) error {
	if err := in.dir.Exchange(a, other.dir, b); err != nil {
		return &os.LinkError{Op: "exchange", Old: pathA, New: pathB, Err: err} // either may be missing
	}
	return nil
}

// osKeep is the metadata that os.WriteFile, which truncates the file, leaves
// unchanged. Off Linux the owner cannot be kept.
const osKeep = (KeepMode | KeepOwner | KeepACL) & canKeep
