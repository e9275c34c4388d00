package follow

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// textOf returns the text of a file from its begin on: what is in it, decompressed if it
// is compressed by gzip. It moves no offset of f.
func textOf(f *os.File) (io.Reader, error) {
	r := io.NewSectionReader(f, 0, 1<<62)
	if !isGzip(f) {
		return r, nil
	}
	return gzip.NewReader(bufio.NewReaderSize(r, 64<<10))
}

// isGzip reports whether a file is compressed by gzip.
func isGzip(f *os.File) bool {
	var magic [3]byte
	n, _ := f.ReadAt(magic[:], 0)
	return n == 3 && magic == [3]byte{0x1f, 0x8b, 8}
}

// A listed is a file that may be one of a source.
type listed struct {
	name string
	fi   os.FileInfo
}

// mostListed bounds the files beside a source that are looked at.
const mostListed = 1000

// list returns the files that may be of a source: the one of its name first, if it is
// there, then those whose names begin like it, in its directory and that of the file it
// links to. All had these names at one moment: a file that is renamed meanwhile is not
// missed.
func list(path string) []listed {
	before := listOnce(path)
	for range 100 {
		now := listOnce(path)
		if sameListing(before, now) {
			return now
		}
		before = now
	}
	return before
}

// sameListing reports whether two listings have the same files under the same names.
func sameListing(a, b []listed) bool {
	return slices.EqualFunc(a, b, func(a, b listed) bool { return a.name == b.name && os.SameFile(a.fi, b.fi) })
}

func listOnce(path string) (all []listed) {
	add := func(name string) {
		if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() && len(all) < mostListed {
			all = append(all, listed{name, fi})
		}
	}
	add(path)
	places := []string{path}
	if target, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(target) != filepath.Dir(path) {
		places = append(places, target)
	}
	for _, place := range places {
		// log.1 and log-20270115.gz are of log; so may api-20270115.log be of api.log.
		stem := strings.TrimSuffix(filepath.Base(place), filepath.Ext(place))
		names, err := os.ReadDir(filepath.Dir(place))
		if err != nil {
			continue
		}
		for _, e := range names {
			if name := filepath.Join(filepath.Dir(place), e.Name()); name != path && strings.HasPrefix(e.Name(), stem) {
				add(name)
			}
		}
	}
	return all
}

// open opens a file if it is still the one that was listed.
func (l *listed) open() *os.File {
	f, err := os.Open(l.name)
	if err != nil {
		return nil
	}
	if fi, err := f.Stat(); err == nil && os.SameFile(fi, l.fi) {
		return f
	}
	f.Close()
	return nil
}

// A found is the open file of a generation.
type found struct {
	file    *os.File
	current bool // it has the name of the source
}

// find returns the file of a generation that has a text of at least that many bytes, or
// nil: first by its inode, then a copy, by its first bytes. It is not there only if the
// files are still the same ones after all were looked at: between the listing and the
// look, one may have been renamed, compressed, or copied and truncated.
func find(path string, id *identity, least int64) *found {
	files := list(path)
	for range 100 {
		for _, byInode := range []bool{true, false} {
			if !byInode && id.HeadBytes < headLeast {
				continue // too few bytes to recognise it by
			}
			for _, l := range files {
				if byInode && !id.sameInode(l.fi) {
					continue
				}
				f := l.open()
				if f == nil {
					continue
				}
				if id.sameHead(f) && (isGzip(f) || sizeOf(f) >= least) {
					return &found{f, l.name == path}
				}
				f.Close()
			}
		}
		now := list(path)
		if sameListing(files, now) {
			return nil
		}
		files = now
	}
	return nil
}

func sizeOf(f *os.File) int64 {
	fi, err := f.Stat()
	if err != nil {
		return -1
	}
	return fi.Size()
}

// next returns the file that is the next generation: the oldest that was not last written
// before the moment and that is no generation yet, but had the name of the source while
// nobody looked; else the one that has the name now. nil is none for now.
func next(path string, book *Book, after time.Time) *listed {
	files := list(path)
	var named *listed
	var head []byte
	if len(files) > 0 && files[0].name == path {
		named, files = &files[0], files[1:]
		head = headOfListed(named)
	}
	if after.IsZero() {
		return named
	}
	files = slices.DeleteFunc(files, func(l listed) bool {
		return !isSuffixed(l.name, path) || l.fi.Size() == 0 || l.fi.ModTime().Before(after) || named != nil && os.SameFile(l.fi, named.fi) || isKnown(&l, book, head)
	})
	if len(files) == 0 {
		return named
	}
	slices.SortStableFunc(files, func(a, b listed) int {
		return cmp.Or(a.fi.ModTime().Compare(b.fi.ModTime()), cmp.Compare(suffixNumber(b.name), suffixNumber(a.name)), strings.Compare(a.name, b.name))
	})
	return &files[0]
}

// isSuffixed reports whether a name is that of the source with something behind it.
func isSuffixed(name, path string) bool {
	rest, ok := strings.CutPrefix(filepath.Base(name), filepath.Base(path))
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '-')
}

// suffixNumber returns the number behind the name of a rotated file: app.log.12 and
// app.log.12.gz are 12. The larger, the older.
func suffixNumber(name string) int {
	name = strings.TrimSuffix(name, ".gz")
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
	if err != nil {
		return 0
	}
	return n
}

// isKnown reports whether a file is a generation, or a copy of one, or one of the file
// that begins with head, perhaps not whole yet.
func isKnown(l *listed, book *Book, head []byte) bool {
	f := l.open()
	if f == nil {
		return true // it was renamed, or cannot be read
	}
	defer f.Close()
	if book.knows(f) {
		return true
	}
	begin := make([]byte, headMost)
	n, err := headOf(f, begin)
	return err == nil && len(head) > 0 && bytes.HasPrefix(head, begin[:n])
}

func headOfListed(l *listed) []byte {
	f := l.open()
	if f == nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, headMost)
	n, err := headOf(f, head)
	if err != nil {
		return nil
	}
	return head[:n]
}
