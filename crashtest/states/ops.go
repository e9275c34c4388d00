package states

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Operations of a file system, as both front ends record them. They name files by
// inode number, as the kernel does: an open file that was renamed is the same
// file.

type opKind uint8

const (
	opCreate   opKind = iota + 1 // a new file, directory or symlink, by its mode, with a name
	opTmpfile                    // a new file that has no name yet (O_TMPFILE)
	opLink                       // a further name
	opUnlink                     // a name removed; rmdir too
	opRename                     // replaces the file that has the new name, if any
	opExchange                   // two names are swapped (RENAME_EXCHANGE)
	opWrite
	opZero // fallocate: a range that reads as zeros from now on, or only a larger size
	opTruncate
	opAttr  // mode and owner
	opXattr // one extended attribute
	opSync
	opDatasync
	opSyncDir
	opSyncFS
	opSyncFailed // a sync that returned an error
)

var opNames = map[opKind]string{
	opCreate: "create", opTmpfile: "create unnamed", opLink: "link", opUnlink: "unlink",
	opRename: "rename", opExchange: "exchange", opWrite: "write", opZero: "allocate",
	opTruncate: "truncate", opAttr: "chmod", opXattr: "setxattr", opSync: "fsync",
	opDatasync: "fdatasync", opSyncDir: "fsync directory", opSyncFS: "syncfs", opSyncFailed: "failed sync",
}

// An op is one operation that was carried out.
type op struct {
	Kind      opKind
	Node      uint64 // the file, or the directory of opSyncDir
	Dir, Dir2 uint64 `json:",omitempty"` // directory of the name, and of a rename's new name
	Name      string `json:",omitempty"`
	Name2     string `json:",omitempty"` // a rename's new one
	Other     uint64 `json:",omitempty"` // an exchange's second file
	Off, Len  int64  `json:",omitempty"` // range; Len is the size that opTruncate sets
	Size      int64  `json:",omitempty"` // of the file before a write, zero or truncate
	Mode      uint32 `json:",omitempty"` // of a new file or opAttr, with the type
	UID, GID  uint32 `json:",omitempty"`
	Target    string `json:",omitempty"` // of a symlink; name of an extended attribute
	Removed   bool   `json:",omitempty"` // the extended attribute
	Skipped   bool   `json:"-"`          // a sync that is left out, for a mutant
	Path      string // for reports, when the operation was made
	Path2     string `json:",omitempty"`
	Data      []byte `json:"-"` // of a write or an extended attribute
}

// String returns, for example, "write a/log [512, 1024)".
func (o *op) String() string {
	name := opNames[o.Kind]
	if o.Skipped {
		name = "(left out) " + name
	}
	switch o.Kind {
	case opCreate:
		switch o.Mode & typeMask {
		case typeDir:
			name = "mkdir"
		case typeLink:
			return fmt.Sprintf("symlink %s -> %s", o.Path, o.Target)
		}
	case opUnlink:
		if o.Mode&typeMask == typeDir {
			name = "rmdir"
		}
	case opLink:
		return fmt.Sprintf("link %s as %s", o.Path, o.Path2)
	case opRename:
		return fmt.Sprintf("rename %s to %s", o.Path, o.Path2)
	case opExchange:
		return fmt.Sprintf("exchange %s and %s", o.Path, o.Path2)
	case opWrite, opZero:
		return fmt.Sprintf("%s %s [%d, %d)", name, o.Path, o.Off, o.Off+o.Len)
	case opTruncate:
		return fmt.Sprintf("truncate %s to %d", o.Path, o.Len)
	case opXattr:
		return fmt.Sprintf("%s %s %s", name, o.Path, o.Target)
	case opSyncFS:
		return name
	}
	return name + " " + o.Path
}

// mutates reports whether the operation changes files; the others make changes
// durable.
func (o *op) mutates() bool { return o.Kind < opSync }

// extends reports whether the operation made the file longer.
func (o *op) extends() bool { return o.Off+o.Len > o.Size }

// Modes of the inodes, as in inode(7), whatever the system.
const (
	typeMask = 0o170000
	typeDir  = 0o040000
	typeFile = 0o100000
	typeLink = 0o120000
)

// The process that serves a mount logs an operation as the length of its
// description, the length of its data, and both:
//
//	u32 n | u32 m | n bytes of JSON | m bytes

func appendOp(b []byte, o *op) ([]byte, error) {
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

func (o *op) names() [3]*string { return [3]*string{&o.Name, &o.Name2, &o.Target} }

// parseOps returns the operations in b, and the offset at which each ends.
func parseOps(b []byte) (ops []op, ends []int64, err error) {
	for at := 0; at < len(b); {
		if len(b)-at < 8 {
			return nil, nil, fmt.Errorf("states: log of operations ends in a header, at %d", at)
		}
		n := int(binary.LittleEndian.Uint32(b[at:]))
		m := int(binary.LittleEndian.Uint32(b[at+4:]))
		at += 8
		if n < 0 || m < 0 || len(b)-at < n || len(b)-at-n < m {
			return nil, nil, fmt.Errorf("states: log of operations is cut short at %d", at)
		}
		var o op
		if err := json.Unmarshal(b[at:at+n], &o); err != nil {
			return nil, nil, fmt.Errorf("states: log of operations at %d: %w", at, err)
		}
		for _, name := range o.names() {
			raw, err := hex.DecodeString(*name)
			if err != nil {
				return nil, nil, fmt.Errorf("states: log of operations at %d: %w", at, err)
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

// Sizes of the modelled disk, in bytes.
const (
	pageSize = 4096
	sector   = 512 // written whole or not at all
)
