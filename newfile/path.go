package newfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// badName is a name that no Dir takes.
type badName string

func (e badName) Error() string        { return string(e) }
func (e badName) Is(target error) bool { return target == fs.ErrInvalid }

func checkName(name string) error {
	switch {
	case name == "":
		return badName("name is empty")
	case name == "." || name == "..":
		return badName("name is a directory")
	case strings.IndexByte(name, '/') >= 0 || os.PathSeparator != '/' && strings.IndexByte(name, os.PathSeparator) >= 0:
		return badName("name holds a separator")
	case strings.IndexByte(name, 0) >= 0:
		return badName("name holds a NUL byte")
	case runtime.GOOS == "windows" && !filepath.IsLocal(name):
		return badName("name is not local")
	}
	return nil
}

// rootShard is the number of the folder itself.
const rootShard = -1

// place is where a file is.
type place struct {
	shard     int
	path, rel string // rel is relative to the Dir, and a part of path
}

// name is the name that the caller gave.
func (p place) name() string { return p.rel[strings.LastIndexByte(p.rel, os.PathSeparator)+1:] }

func (d *Dir) place(op, name string) (place, error) {
	if err := checkName(name); err != nil {
		return place{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if d.width == 0 {
		path := d.prefix + name
		return place{rootShard, path, path[len(d.prefix):]}, nil
	}
	s := shardOf(name, d.width)
	path := d.prefix + d.shardName(s) + string(os.PathSeparator) + name
	return place{s, path, path[len(d.prefix):]}, nil
}

// Path returns where the file name is, or is to be: dir/name, and with Shards
// dir/shard/name. It makes no system call. For a name that Create refuses it
// returns "", as the zero Dir does.
//
// The layout is the same on every system and in every version. The shard is
// the hash of the name's bytes as hexadecimal digits in lower case: one for 16
// shards, two for 256, three for 4096. The hash is FNV-1a of 32 bits, and of it
// the lowest 4, 8 or 12 bits of h>>16 ^ h. A Dir of another number of shards
// does not find the files: the number belongs to the folder.
func (d *Dir) Path(name string) string {
	p, err := d.place("", name)
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
