package tree

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A Kind says what an operation did.
type Kind uint8

// The kinds of operations.
const (
	OpCreate   Kind = iota + 1 // a new file, directory or symlink, by its mode, with a name
	OpTmpfile                  // a new file that has no name yet (O_TMPFILE)
	OpLink                     // a further name
	OpUnlink                   // a name removed; rmdir too
	OpRename                   // replaces the file that has the new name, if any
	OpExchange                 // two names are swapped (RENAME_EXCHANGE)
	OpWrite
	OpZero // fallocate: a range that reads as zeros from now on, or only a larger size
	OpTruncate
	OpAttr  // mode and owner
	OpXattr // one extended attribute
	OpSync
	OpDatasync
	OpSyncDir
	OpSyncFS
	OpSyncFailed // a sync that returned an error
)

var kindNames = map[Kind]string{
	OpCreate: "create", OpTmpfile: "create unnamed", OpLink: "link", OpUnlink: "unlink",
	OpRename: "rename", OpExchange: "exchange", OpWrite: "write", OpZero: "allocate",
	OpTruncate: "truncate", OpAttr: "chmod", OpXattr: "setxattr", OpSync: "fsync",
	OpDatasync: "fdatasync", OpSyncDir: "fsync directory", OpSyncFS: "syncfs", OpSyncFailed: "failed sync",
}

// String returns, for example, "fsync directory".
func (k Kind) String() string { return kindNames[k] }

// An Op is one operation that was carried out. It names files by inode number: an
// open file that was renamed is the same file.
type Op struct {
	Kind      Kind
	Node      uint64 // the file, or the directory of OpSyncDir
	Dir, Dir2 uint64 `json:",omitempty"` // directory of the name, and of a rename's new name
	Name      string `json:",omitempty"`
	Name2     string `json:",omitempty"` // a rename's new one
	Other     uint64 `json:",omitempty"` // an exchange's second file
	Off, Len  int64  `json:",omitempty"` // range; Len is the size that OpTruncate sets
	Size      int64  `json:",omitempty"` // of the file before a write, zero or truncate
	Mode      uint32 `json:",omitempty"` // of a new file or OpAttr, with the type
	UID, GID  uint32 `json:",omitempty"`
	Target    string `json:",omitempty"` // of a symlink; name of an extended attribute
	Removed   bool   `json:",omitempty"` // the extended attribute
	Skipped   bool   `json:"-"`          // a sync that is left out, for a mutant
	Path      string // for reports, when the operation was made
	Path2     string `json:",omitempty"`
	Data      []byte `json:"-"` // of a write or an extended attribute
}

// String returns, for example, "write a/log [512, 1024)".
func (o *Op) String() string {
	name := o.Kind.String()
	if o.Skipped {
		name = "(left out) " + name
	}
	switch o.Kind {
	case OpCreate:
		switch o.Mode & TypeMask {
		case TypeDir:
			name = "mkdir"
		case TypeLink:
			return fmt.Sprintf("symlink %s -> %s", o.Path, o.Target)
		}
	case OpUnlink:
		if o.Mode&TypeMask == TypeDir {
			name = "rmdir"
		}
	case OpLink:
		return fmt.Sprintf("link %s as %s", o.Path, o.Path2)
	case OpRename:
		return fmt.Sprintf("rename %s to %s", o.Path, o.Path2)
	case OpExchange:
		return fmt.Sprintf("exchange %s and %s", o.Path, o.Path2)
	case OpWrite, OpZero:
		return fmt.Sprintf("%s %s [%d, %d)", name, o.Path, o.Off, o.Off+o.Len)
	case OpTruncate:
		return fmt.Sprintf("truncate %s to %d", o.Path, o.Len)
	case OpXattr:
		return fmt.Sprintf("%s %s %s", name, o.Path, o.Target)
	case OpSyncFS:
		return name
	}
	return name + " " + o.Path
}

// Mutates reports whether the operation changes files; the others make changes
// durable.
func (o *Op) Mutates() bool { return o.Kind < OpSync }

// Extends reports whether the operation made the file longer.
func (o *Op) Extends() bool { return o.Off+o.Len > o.Size }

// Modes of the inodes, as in inode(7), whatever the system.
const (
	TypeMask = 0o170000
	TypeDir  = 0o040000
	TypeFile = 0o100000
	TypeLink = 0o120000
)

// The process that serves a mount logs an operation as the length of its
// description, the length of its data, and both:
//
//	u32 n | u32 m | n bytes of JSON | m bytes

// AppendOp appends o to a log of operations.
func AppendOp(b []byte, o *Op) ([]byte, error) {
	wire := *o
	for _, name := range wire.names() {
		*name = hex.EncodeToString([]byte(*name)) // JSON is UTF-8, and names need not be
	}
	head, err := json.Marshal(&wire)
	if err != nil {
		return b, err
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(o.Data)))
	return append(append(b, head...), o.Data...), nil
}

func (o *Op) names() [3]*string { return [3]*string{&o.Name, &o.Name2, &o.Target} }

// ParseOps returns the operations in b, and the offset at which each ends.
func ParseOps(b []byte) (ops []Op, ends []int64, err error) {
	for at := 0; at < len(b); {
		if len(b)-at < 8 {
			return nil, nil, fmt.Errorf("log of operations: header at byte %d is cut short", at)
		}
		n := int(binary.LittleEndian.Uint32(b[at:]))
		m := int(binary.LittleEndian.Uint32(b[at+4:]))
		at += 8
		if n < 0 || m < 0 || len(b)-at < n || len(b)-at-n < m {
			return nil, nil, fmt.Errorf("log of operations: operation at byte %d is cut short", at)
		}
		var o Op
		if err := json.Unmarshal(b[at:at+n], &o); err != nil {
			return nil, nil, fmt.Errorf("log of operations: operation at byte %d: %w", at, err)
		}
		for _, name := range o.names() {
			raw, err := hex.DecodeString(*name)
			if err != nil {
				return nil, nil, fmt.Errorf("log of operations: operation at byte %d: %w", at, err)
			}
			*name = string(raw)
		}
		if o.Data = b[at+n : at+n+m : at+n+m]; m == 0 {
			o.Data = nil
		}
		at += n + m
		ops, ends = append(ops, o), append(ends, int64(at))
	}
	return ops, ends, nil
}
