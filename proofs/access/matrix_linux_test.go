package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

// A cell is one case of the matrix.
type cell struct {
	writer   person
	uid, gid int // of the old file
	mode     uint32
	umask    int
	acl      string // "" for none; MASK stands for the group bits of mode
	inherit  string // the directory's default ACL
	attrs    []string
	way      way
}

func (c cell) String() string {
	return fmt.Sprintf("%s by %s, file %d:%d %04o acl{%s} default{%s} attributes%v umask %03o",
		c.way.name, c.writer.name, c.uid, c.gid, c.mode, c.acl, c.inherit, c.attrs, c.umask)
}

// A way is a function that gives a name new content.
type way struct {
	name string
	// keeps is what the new file must keep. Only a way of KeepNothing may grant what the
	// old file denied. perm bounds those that do not keep the mode.
	keeps   atomicfile.Keep
	inPlace bool // has no new file
	prepare func(path string) error
	run     func(path string) error
}

const perm = 0o640 // of ways that keep no mode

var content = []byte("secret")

func ways() (all []way) {
	add := func(name string, keeps atomicfile.Keep, run func(path string) error) {
		all = append(all, way{name: name, keeps: keeps, run: run})
	}
	add("WriteFile", atomicfile.KeepMode|atomicfile.KeepOwner|atomicfile.KeepACL, func(path string) error {
		return atomicfile.WriteFile(path, content, 0o666)
	})
	const mode, own, attrs, acl = atomicfile.KeepMode, atomicfile.KeepOwner, atomicfile.KeepXattrs, atomicfile.KeepACL
	for _, keep := range []atomicfile.Keep{0, mode, acl, mode | own, own | acl, mode | attrs, attrs, own, atomicfile.KeepAll, atomicfile.KeepNothing} {
		o := atomicfile.Options{Level: durability.Kill, Keep: keep}
		add(fmt.Sprintf("Create keep %05b", keep), keep, func(path string) error {
			f, err := atomicfile.Create(path, perm, o)
			if err != nil {
				return err
			}
			defer f.Abort()
			if _, err := f.Write(content); err != nil {
				return err
			}
			return f.Commit()
		})
	}
	for _, keep := range []atomicfile.Keep{0, mode, atomicfile.KeepAll, atomicfile.KeepNothing} {
		o := atomicfile.Options{Level: durability.Kill, Keep: keep}
		add(fmt.Sprintf("Dir.WriteFile keep %05b", keep), keep, func(path string) error {
			d, err := atomicfile.OpenDir(filepath.Dir(path), o)
			if err != nil {
				return err
			}
			defer d.Close()
			return d.WriteFile(filepath.Base(path), content, perm)
		})
		add(fmt.Sprintf("Batch keep %05b", keep), keep, func(path string) error {
			b := atomicfile.NewBatch(o)
			defer b.Abort()
			if err := b.Add(path, content, perm); err != nil {
				return err
			}
			return b.Commit()
		})
	}
	for _, o := range []atomicfile.Options{{}, {ExactMode: true}, {Links: atomicfile.FollowLinks}} {
		o.Level = durability.Kill
		add(fmt.Sprintf("WriteFileWith exact %v links %d", o.ExactMode, o.Links), 0, func(path string) error {
			return atomicfile.WriteFileWith(path, content, perm, o)
		})
	}
	return append(all, headerWays()...)
}

func headerWays() (all []way) {
	for _, s := range []header.Strategy{header.Copy, header.KernelCopy, header.Clone} {
		for _, keep := range []atomicfile.Keep{0, atomicfile.KeepNothing, atomicfile.KeepMode | atomicfile.KeepACL} {
			o := header.Options{Level: durability.Kill, Strategy: s, Keep: keep, Pad: header.PadByte('\n')}
			keeps := keep | atomicfile.KeepMode
			if keep == 0 {
				keeps = atomicfile.KeepAll
			}
			all = append(all, way{
				name: fmt.Sprintf("header %v keep %05b", s, keep), keeps: keeps,
				run: func(path string) error { _, err := header.Insert(context.Background(), path, content, o); return err },
			})
		}
	}
	remove := header.Options{Level: durability.Kill, Strategy: header.Copy}
	all = append(all, way{
		name: "header remove", keeps: atomicfile.KeepAll,
		prepare: func(path string) error {
			_, err := header.Insert(context.Background(), path, content, remove)
			return err
		},
		run: func(path string) error { _, err := header.Remove(context.Background(), path, remove); return err },
	})
	o := header.Options{Level: durability.Kill, Mode: header.InPlace, Strategy: header.Slot, Pad: header.PadByte('\n')}
	return append(all, way{
		name: "header in place", inPlace: true, keeps: atomicfile.KeepAll,
		prepare: func(path string) error {
			_, err := header.Reserve(context.Background(), path, 100, header.Options{Level: durability.Kill, Pad: header.PadByte('\n')})
			return err
		},
		run: func(path string) error { _, err := header.Insert(context.Background(), path, content, o); return err },
	})
}

// accessACLs has access ACLs in which %[1]o are the owner's bits, %[2]o the group's, which
// are the mask, and %[3]o the others'.
var accessACLs = []string{
	"",
	"u:%[1]o u1003:6 g:0 m:%[2]o o:%[3]o",
	"u:%[1]o g:4 g2003:6 m:%[2]o o:%[3]o",
	"u:%[1]o u1003:7 g:7 g2003:7 m:%[2]o o:%[3]o",
	"u:%[1]o u1006:0 g:7 g2004:0 m:%[2]o o:%[3]o",
	"u:%[1]o g:0 m:%[2]o o:%[3]o",
}

var defaultACLs = []string{"", "u:7 u1007:7 g:7 g2008:7 m:7 o:7"}

// casts has the writers, and the owners of the old file.
var casts = []cell{
	{writer: person{"root", 0, []int{0}}, uid: 0, gid: 0},
	{writer: person{"root", 0, []int{0}}, uid: owner, gid: team},
	{writer: person{"root", 0, []int{0}}, uid: 0, gid: team},
	{writer: person{"owner", owner, []int{writers}}, uid: owner, gid: writers},
	{writer: person{"owner", owner, []int{writers}}, uid: owner, gid: team},
	{writer: person{"owner in team", owner, []int{writers, team}}, uid: owner, gid: team},
	{writer: person{"owner", owner, []int{writers}}, uid: named, gid: writers},
}

var modes = []uint32{0o600, 0o640, 0o644, 0o660, 0o604, 0o444, 0o4755, 0o2750}

var attributes = [][]string{nil, {"user.a", "trusted.b"}, {"user.a", "security.capability"}}

// matrix returns every cell, except that umask and attributes alternate.
func matrix() (cells []cell) {
	for _, w := range ways() {
		for _, c := range casts {
			for _, c.mode = range modes {
				for _, acl := range accessACLs {
					for _, c.inherit = range defaultACLs {
						c.way, c.acl = w, ""
						if acl != "" {
							c.acl = fmt.Sprintf(acl, c.mode>>6&7, c.mode>>3&7, c.mode&7)
						}
						n := len(cells)
						c.umask = []int{0o022, 0, 0o077}[n/2%3]
						c.attrs = attributes[n/6%3]
						cells = append(cells, c)
					}
				}
			}
		}
	}
	return cells
}

// capability is cap_net_raw, permitted (vfs_cap_data, version 2).
var capability = []byte("\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")

// valueOf returns the value of an attribute of an old file.
func valueOf(name string) []byte {
	if name == "security.capability" {
		return capability
	}
	return []byte("value of " + name)
}

// A skip is an error: what the file system lacks.
type skip string

func (s skip) Error() string { return string(s) }

// lay makes the cell's directory with the old file, and returns the file's path.
func (c cell) lay(dir string) (string, error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, slices.Repeat([]byte("old"), 10_000), 0o600); err != nil {
		return "", err
	}
	if c.way.prepare != nil {
		if err := c.way.prepare(path); err != nil {
			return "", skip(err.Error())
		}
	}
	if err := os.Chown(path, c.uid, c.gid); err != nil {
		return "", err
	}
	if err := syscall.Chmod(path, c.mode); err != nil {
		return "", err
	}
	for _, name := range c.attrs {
		if err := unix.Setxattr(path, name, valueOf(name), 0); err != nil {
			return "", skip(fmt.Sprintf("attribute %s: %v", name, err))
		}
	}
	for name, acl := range map[string]string{accessACL: c.acl, defaultACL: c.inherit} {
		if acl == "" {
			continue
		}
		where := path
		if name == defaultACL {
			where = dir
		}
		if err := unix.Setxattr(where, name, encodeACL(acl), 0); err != nil {
			return "", skip(fmt.Sprintf("%s: %v", name, err))
		}
	}
	return path, nil
}

// run does the cell's work as its writer, on the calling thread.
func (c cell) run(path string) error {
	back, err := c.writer.become()
	if err != nil {
		return err
	}
	if c.writer.uid != 0 {
		caps, err := withoutCapabilities()
		if err != nil {
			return err
		}
		become := back
		back = func() error { return errors.Join(caps(), become()) }
	}
	old := syscall.Umask(c.umask)
	err = c.way.run(path)
	syscall.Umask(old)
	if e := back(); e != nil {
		return e
	}
	return err
}

// bound returns what each of the people may do to the new file at most.
func (c cell) bound(before []rights) []rights {
	all := slices.Clone(before)
	for i, p := range people {
		switch {
		case p.uid == c.writer.uid, p.uid == c.uid:
			all[i] = 7 // an owner can give himself any right
		case c.way.keeps == atomicfile.KeepNothing:
			all[i] = perm >> 3 & 7 // the mask bounds what is inherited
		case c.way.keeps&(atomicfile.KeepMode|atomicfile.KeepACL) == 0:
			all[i] &= perm >> 3 & 7
		}
	}
	return all
}

// beyond returns the people who have rights that the bound denies, or "".
func beyond(now, bound []rights) string {
	var b strings.Builder
	for i, p := range people {
		if more := now[i] &^ bound[i]; more != 0 {
			fmt.Fprintf(&b, "; %s: %v", p.name, more)
		}
	}
	return strings.TrimPrefix(b.String(), "; ")
}
