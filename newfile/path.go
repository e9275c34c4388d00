package newfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// invalid is an error that is fs.ErrInvalid.
type invalid string

func (e invalid) Error() string        { return string(e) }
func (e invalid) Is(target error) bool { return target == fs.ErrInvalid }

// checkName returns an error for a name that no Dir takes.
func checkName(name string) error {
	switch {
	case name == "":
		return invalid("name is empty")
	case name == "." || name == "..":
		return invalid("name is a directory")
	case strings.IndexByte(name, '/') >= 0 || os.PathSeparator != '/' && strings.IndexByte(name, os.PathSeparator) >= 0:
		return invalid("name contains a separator")
	case strings.IndexByte(name, 0) >= 0:
		return invalid("name contains a NUL byte")
	case runtime.GOOS == "windows" && !filepath.IsLocal(name):
		return invalid("name is not local")
	}
	return nil
}

// rootShard stands for the directory itself.
const rootShard = -1

// A location is the place of a file.
type location struct {
	shard     int
	path, rel string // rel is relative to the Dir, and the end of path
}

// name returns the name that the caller gave.
func (p location) name() string { return p.rel[strings.LastIndexByte(p.rel, os.PathSeparator)+1:] }

// locate returns the location of the file name.
func (d *Dir) locate(op, name string) (location, error) {
	if err := checkName(name); err != nil {
		return location{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if d.width == 0 {
		path := d.prefix + name
		return location{rootShard, path, path[len(d.prefix):]}, nil
	}
	s := shardOf(name, d.width)
	path := d.prefix + d.shardName(s) + string(os.PathSeparator) + name
	return location{s, path, path[len(d.prefix):]}, nil
}

// Path returns the path of the file name, which need not exist: dir/name, with
// Shards dir/shard/name. It makes no system call. It returns "" for a name that
// Create refuses, and of a zero Dir.
//
// The layout is the same on every system and in every version. The shard is the
// hash of the name's bytes in lower-case hexadecimal digits: one for 16 shards,
// two for 256, three for 4096. The hash is the lowest 4, 8 or 12 bits of
// h>>16 ^ h, h being the 32-bit FNV-1a hash. A Dir with another number of shards
// does not find the files: the number belongs to the directory.
func (d *Dir) Path(name string) string {
	p, err := d.locate("", name)
	if err != nil || !d.opened() {
		return ""
	}
	return p.path
}

func shardOf(name string, width int) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h>>16 ^ h) & (1<<(4*width) - 1))
}

const hexDigits = "0123456789abcdef"

func (d *Dir) shardName(shard int) string {
	b := [3]byte{hexDigits[shard>>8&15], hexDigits[shard>>4&15], hexDigits[shard&15]}
	return string(b[3-d.width:])
}

func (d *Dir) shardPath(shard int) string {
	if shard == rootShard {
		return d.name
	}
	return filepath.Join(d.name, d.shardName(shard))
}
