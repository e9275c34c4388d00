package env

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
)

// tries are all capabilities, in the order in which they are shown.
var tries = []try{
	{"O_TMPFILE", "files without a name: nothing to clean up after a crash", true, tryTmpfile},
	{"linkat", "a finished O_TMPFILE file gets its name in one step", true, tryLinkTmpfile},
	{"fallocate", "blocks allocated ahead of writing", true, tryAllocate},
	{"FALLOC_FL_KEEP_SIZE", "blocks allocated past the end, the size kept: logs that grow", true, tryKeepSize},
	{"FALLOC_FL_PUNCH_HOLE", "blocks freed inside a file", true, falloc(fileop.FallocPunchHole, 1, "abcd", "a.cd")},
	{"FALLOC_FL_ZERO_RANGE", "a range turned to zeros without writing it", true, falloc(fileop.FallocZero, 1, "abcd", "a.cd")},
	{"FALLOC_FL_COLLAPSE_RANGE", "whole blocks removed, the rest moves up", true, falloc(fileop.FallocCollapse, 1, "abcd", "acd")},
	{"FALLOC_FL_INSERT_RANGE", "whole blocks inserted, the rest moves down: headers", true, falloc(fileop.FallocInsert, 1, "abcd", "a.bcd")},
	{"FALLOC_FL_UNSHARE_RANGE", "a clone made to own its blocks ahead of writing", true, falloc(fileop.FallocUnshare, 1, "abcd", "abcd")},
	{"FALLOC_FL_WRITE_ZEROES", "blocks zeroed by the device, so that overwriting them changes no metadata", true, falloc(fileop.FallocWriteZeroes, 1, "abcd", "a.cd")},
	{"FICLONE", "copies that share blocks until written to", true, tryClone},
	{"FICLONERANGE", "the same for a part of a file", true, tryCloneRange},
	{"copy_file_range", "copies that stay in the kernel", true, tryCopyRange},
	{"O_DIRECT", "reads and writes past the page cache", true, tryDirect},
	{"RWF_DONTCACHE", "buffered writes that leave nothing in the page cache", true, tryDontCache},
	{"RWF_ATOMIC", "writes that a power cut does not tear", true, tryAtomic},
	{"RWF_DSYNC", "one write made durable without a call of its own", true, tryDSync},
	{"openat2", "RESOLVE_BENEATH: a path stays below a directory, whatever symlinks are there", true, tryOpenat2},
	{"RENAME_NOREPLACE", "a rename that never overwrites", true, tryNoReplace},
	{"RENAME_EXCHANGE", "two names swapped in one step", true, tryExchange},
	{"xattr", "extended attributes of users (user.*)", true, tryXattr},
	{"acl", "POSIX access lists", true, tryACL},
	{"sync_file_range", "starts writing a range early; makes nothing durable", true, trySyncRange},
	{"syncfs", "one sync for a whole file system", true, trySyncfs},
	{"fdatasync", "a sync without the metadata that reading the data does not need", true, tryFdatasync},
	{"fsync", "a sync of data and metadata", false, tryFsync},
	{"memfd", "files in memory, of no file system", true, tryMemfd},
	{"name-max", "longest name of a file", false, tryNameMax},
	{"case-sensitive", "A and a are two names", false, tryCase},
}

func tryTmpfile(dir string) (string, error) {
	f, err := sys.OpenTmpfile(dir)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return "", errWrong("the file has a name")
	}
	return "", nil
}

func tryLinkTmpfile(dir string) (string, error) {
	f, err := sys.OpenTmpfile(dir)
	if err != nil {
		return "", errNot("needs O_TMPFILE: " + named(err))
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		return "", err
	}
	if err := fileop.LinkTmpfile(f, filepath.Join(dir, "a")); err != nil {
		return "", err
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(data) != "x" {
		return "", errWrong("the name leads to something else")
	}
	return "", nil
}

// allocated returns the size of f and whether it has blocks for n bytes.
func allocated(f *os.File, n int64) (size int64, enough bool, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	return fi.Size(), sys.AllocatedBytes(fi) >= n, nil
}

func tryAllocate(dir string) (string, error) { return tryBlocks(dir, 0, 2*blockLen) }
func tryKeepSize(dir string) (string, error) { return tryBlocks(dir, fileop.FallocKeepSize, 0) }

func tryBlocks(dir string, mode uint32, wantSize int64) (string, error) {
	f, err := scratch(dir, nil)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := fileop.Fallocate(f, mode, 0, 2*blockLen); err != nil {
		return "", err
	}
	size, enough, err := allocated(f, 2*blockLen)
	switch {
	case err != nil:
		return "", err
	case size != wantSize:
		return "", errWrong(fmt.Sprintf("the call succeeded, but the size is %d, not %d", size, wantSize))
	case !enough:
		return "the call succeeds, but stat shows no blocks taken", nil
	}
	return "", nil
}

// falloc tries one mode on one block of a file, and looks at the content.
func falloc(mode uint32, block int64, before, after string) func(string) (string, error) {
	return func(dir string) (string, error) {
		f, err := scratch(dir, blocks(before))
		if err != nil {
			return "", err
		}
		defer f.Close()
		if err := fileop.Fallocate(f, mode, block*blockLen, blockLen); err != nil {
			return "", err
		}
		return "", mustHold(f, after)
	}
}

// pair makes two files.
func pair(dir, src, dst string) (from, to *os.File, err error) {
	if from, err = scratch(dir, blocks(src)); err != nil {
		return nil, nil, err
	}
	if to, err = scratch(dir, blocks(dst)); err != nil {
		from.Close()
		return nil, nil, err
	}
	return from, to, nil
}

func tryClone(dir string) (string, error) {
	from, to, err := pair(dir, "abc", "")
	if err != nil {
		return "", err
	}
	defer from.Close()
	defer to.Close()
	if err := fileop.Clone(to, from); err != nil {
		return "", err
	}
	return "", mustHold(to, "abc")
}

func tryCloneRange(dir string) (string, error) {
	from, to, err := pair(dir, "abc", "xyz")
	if err != nil {
		return "", err
	}
	defer from.Close()
	defer to.Close()
	if err := fileop.CloneRange(to, from, blockLen, blockLen); err != nil {
		return "", err
	}
	return "", mustHold(to, "xbz")
}

func tryCopyRange(dir string) (string, error) {
	from, to, err := pair(dir, "a", "")
	if err != nil {
		return "", err
	}
	defer from.Close()
	defer to.Close()
	n, err := fileop.CopyFileRange(to, from, blockLen)
	if err != nil {
		return "", err
	}
	if n < blockLen { // allowed; what was copied must be right
		got := make([]byte, n)
		if _, err := to.ReadAt(got, 0); err != nil && err != io.EOF {
			return "", err
		}
		if n == 0 || strings.Trim(string(got), "a") != "" {
			return "", errWrong("the call succeeded, but the copy is wrong")
		}
		return fmt.Sprintf("copied %d of %d bytes in one call", n, blockLen), nil
	}
	return "", mustHold(to, "a")
}

// direct opens a new file for direct I/O and tells the alignment that its
// file system asks for (statx STATX_DIOALIGN, Linux 6.1).
func direct(dir string) (f *os.File, st sys.Statx, err error) {
	path := filepath.Join(dir, "direct")
	made, err := os.Create(path)
	if err != nil {
		return nil, st, err
	}
	made.Close()
	defer os.Remove(path)
	if f, err = fileop.OpenDirect(path); err != nil {
		return nil, st, err
	}
	if st, err = sys.StatFile(f); err != nil {
		f.Close()
		return nil, st, err
	}
	return f, st, nil
}

// unreported is the alignment tried where the kernel tells none: a page,
// which is a multiple of the sector size of every disk in use.
const unreported = 4096

func tryDirect(dir string) (string, error) {
	f, st, err := direct(dir)
	if err != nil {
		return "", err
	}
	defer f.Close()
	mem, off := st.DirectMem, st.DirectOffset
	detail := fmt.Sprintf("alignment from statx: memory %d B, offset and length %d B; written and read back", mem, off)
	if !st.DirectKnown {
		mem, off = unreported, unreported
		detail = fmt.Sprintf("statx tells no alignment; %d B was written and read back", unreported)
	} else if mem == 0 || off == 0 {
		return "", errWrong("statx: no direct I/O on this file, though O_DIRECT can be set; it would be buffered")
	}
	// The second unit, at an address that is no better aligned than asked
	// for: a larger true alignment would refuse it.
	buf := sys.AlignedBuffer(off+mem, 2*max(mem, off))[mem:]
	for i := range buf {
		buf[i] = byte(i%251) + 1
	}
	if _, err := f.WriteAt(buf, int64(off)); err != nil {
		return "", err
	}
	got := sys.AlignedBuffer(off+mem, 2*max(mem, off))[mem:]
	if _, err := f.ReadAt(got, int64(off)); err != nil {
		return "", err
	}
	if string(got) != string(buf) {
		return "", errWrong("the data read back differ from those written")
	}
	return detail, nil
}

func tryAtomic(dir string) (string, error) {
	f, st, err := direct(dir)
	if err != nil {
		return "", errNot("needs O_DIRECT: " + named(err))
	}
	defer f.Close()
	n := int(st.AtomicMin)
	if n == 0 {
		n = unreported
	}
	buf := sys.AlignedBuffer(n, max(n, st.DirectMem))
	wrote, err := fileop.WriteFlags(f, buf, 0, fileop.WriteAtomic)
	switch {
	case err != nil && st.AtomicKnown && st.AtomicMax == 0:
		return "", fmt.Errorf("%w (statx: no size is written atomically)", err)
	case err != nil:
		return "", err
	case wrote != n:
		return "", errWrong(fmt.Sprintf("wrote %d of %d bytes", wrote, n))
	case !st.AtomicKnown:
		return fmt.Sprintf("%d B written; statx tells no limits", n), nil
	}
	return fmt.Sprintf("from %d to %d B (statx); %d B written", st.AtomicMin, st.AtomicMax, n), nil
}

func tryDontCache(dir string) (string, error) { return tryWrite(dir, fileop.WriteDontCache) }
func tryDSync(dir string) (string, error)     { return tryWrite(dir, fileop.WriteDSync) }

func tryWrite(dir string, flags int) (string, error) {
	f, err := scratch(dir, nil)
	if err != nil {
		return "", err
	}
	defer f.Close()
	n, err := fileop.WriteFlags(f, blocks("a"), 0, flags)
	if err != nil {
		return "", err
	}
	if n != blockLen {
		return "", errWrong(fmt.Sprintf("wrote %d of %d bytes", n, blockLen))
	}
	return "", mustHold(f, "a")
}

func tryOpenat2(dir string) (string, error) {
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		return "", err
	}
	d, err := os.Open(inside)
	if err != nil {
		return "", err
	}
	defer d.Close()
	f, err := fileop.CreateBeneath(d, "a")
	if err != nil {
		return "", err
	}
	f.Close()
	if err := os.Symlink("..", filepath.Join(inside, "up")); err != nil {
		return "", err
	}
	if f, err := fileop.CreateBeneath(d, "up/out"); err == nil {
		f.Close()
		return "", errWrong("the call succeeded, but followed a symlink out of the directory")
	}
	return "", nil
}

// twoFiles makes the files a and b, each holding its name.
func twoFiles(dir string) (a, b string, err error) {
	a, b = filepath.Join(dir, "a"), filepath.Join(dir, "b")
	return a, b, errors.Join(os.WriteFile(a, []byte("a"), 0o600), os.WriteFile(b, []byte("b"), 0o600))
}

func holds(path, want string) bool {
	data, err := os.ReadFile(path)
	return err == nil && string(data) == want
}

func tryNoReplace(dir string) (string, error) {
	a, b, err := twoFiles(dir)
	if err != nil {
		return "", err
	}
	if err := fileop.RenameFlags(a, b, fileop.RenameNoReplace); err == nil || !holds(b, "b") {
		return "", errWrong("the rename overwrote a file")
	}
	c := filepath.Join(dir, "c")
	if err := fileop.RenameFlags(a, c, fileop.RenameNoReplace); err != nil {
		return "", err
	}
	if !holds(c, "a") {
		return "", errWrong("the call succeeded, but the file does not have the new name")
	}
	return "", nil
}

func tryExchange(dir string) (string, error) {
	a, b, err := twoFiles(dir)
	if err != nil {
		return "", err
	}
	if err := fileop.RenameFlags(a, b, fileop.RenameExchange); err != nil {
		return "", err
	}
	if !holds(a, "b") || !holds(b, "a") {
		return "", errWrong("the call succeeded, but the names were not swapped")
	}
	return "", nil
}

func tryXattr(dir string) (string, error) {
	return trySetAttr(dir, "user.stele.probe", []byte("value"))
}

// tryACL sets a list with an entry for a user by name, which the mode bits
// alone cannot hold. The form is linux/posix_acl_xattr.h's, version 2.
func tryACL(dir string) (string, error) {
	const none = ^uint32(0)
	acl := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{
		{0x01, 6, none}, // owner
		{0x02, 4, uint32(max(os.Getuid(), 0))},
		{0x04, 4, none}, // group
		{0x10, 4, none}, // mask
		{0x20, 0, none}, // others
	} {
		acl = binary.LittleEndian.AppendUint16(acl, e.tag)
		acl = binary.LittleEndian.AppendUint16(acl, e.perm)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	return trySetAttr(dir, "system.posix_acl_access", acl)
}

func trySetAttr(dir, name string, value []byte) (string, error) {
	f, err := scratch(dir, nil)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := fileop.SetXattr(f, name, value); err != nil {
		return "", err
	}
	buf := make([]byte, 2*len(value))
	n, err := fileop.GetXattr(f, name, buf)
	if err != nil {
		return "", err
	}
	if string(buf[:n]) != string(value) {
		return "", errWrong("the attribute read back differs from the one set")
	}
	return "", nil
}

// onFile tries a call on a file with something to write out.
func onFile(dir string, call func(f *os.File) error) (string, error) {
	f, err := scratch(dir, blocks("a"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return "", call(f)
}

func trySyncRange(dir string) (string, error) { return onFile(dir, fileop.SyncFileRange) }
func tryFdatasync(dir string) (string, error) { return onFile(dir, fileop.Fdatasync) }
func tryFsync(dir string) (string, error)     { return onFile(dir, (*os.File).Sync) }
func trySyncfs(dir string) (string, error)    { return "", fileop.Syncfs(dir) }

func tryMemfd(string) (string, error) {
	f, err := fileop.Memfd("stele-probe")
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.WriteAt(blocks("a"), 0); err != nil {
		return "", err
	}
	return "", mustHold(f, "a")
}

// tryNameMax finds the longest name by making files.
func tryNameMax(dir string) (string, error) {
	const limit = 4096
	lo, hi := 0, limit // lo bytes can be made, hi+1 cannot
	for lo < hi {
		mid := (lo + hi + 1) / 2
		path := filepath.Join(dir, strings.Repeat("n", mid))
		f, err := os.Create(path)
		if err != nil {
			if mid == 1 {
				return "", err
			}
			hi = mid - 1
			continue
		}
		f.Close()
		os.Remove(path)
		lo = mid
	}
	return fmt.Sprintf("%d bytes", lo), nil
}

func tryCase(dir string) (string, error) {
	if err := os.WriteFile(filepath.Join(dir, "case"), nil, 0o600); err != nil {
		return "", err
	}
	if _, err := os.Lstat(filepath.Join(dir, "CASE")); err == nil {
		return "", errWrong("A and a are one name")
	} else if !os.IsNotExist(err) {
		return "", err
	}
	return "", nil
}
