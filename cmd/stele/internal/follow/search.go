package follow

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
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

// A found is the open file of a generation.
type found struct {
	file    *os.File
	name    string
	current bool // it has the name of the source
}

// find returns the file of a generation that has a text of at least that many bytes, or
// nil: first by its inode, under the name of the source or one that begins with it, then
// a copy, by its first bytes.
func find(path string, id identity, least int64) *found {
	names := candidates(path)
	for _, byInode := range []bool{true, false} {
		if !byInode && id.HeadBytes < headLeast {
			return nil // too few bytes to recognise it by
		}
		for i, name := range names {
			if f := openIf(name, id, least, byInode); f != nil {
				return &found{f, name, i == 0}
			}
		}
	}
	return nil
}

// openIf opens a file if it is that of id.
func openIf(name string, id identity, least int64, byInode bool) *os.File {
	fi, err := os.Stat(name)
	if err != nil || !fi.Mode().IsRegular() || byInode && !id.sameInode(fi) {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	if fi, err = f.Stat(); err == nil && id.sameHead(f) && (isGzip(f) || fi.Size() >= least) {
		return f
	}
	f.Close()
	return nil
}

// mostCandidates bounds the files beside a source that are looked at.
const mostCandidates = 1000

// candidates returns the names that a file of the source may have: its own first, then
// those that begin with it, in its directory and that of the file it links to.
func candidates(path string) []string {
	names := []string{path}
	dirs := []string{filepath.Dir(path)}
	bases := []string{filepath.Base(path)}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		dirs, bases = append(dirs, filepath.Dir(target)), append(bases, filepath.Base(target))
	}
	for i, dir := range dirs {
		// log.1 and log-20270115.gz are of log; so may api-20270115.log be of api.log.
		stem := strings.TrimSuffix(bases[i], filepath.Ext(bases[i]))
		list, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range list {
			if name := filepath.Join(dir, e.Name()); name != path && strings.HasPrefix(e.Name(), stem) && len(names) < mostCandidates {
				names = append(names, name)
			}
		}
	}
	return names
}

// missed returns the oldest file beside a source that was not last written before the moment, and
// is no generation yet: it had the name of the source while nobody looked. "" is none.
func missed(path string, book *Book, after time.Time) (oldest string) {
	var at time.Time
	for _, name := range candidates(path)[1:] {
		if base := filepath.Base(name); !strings.HasPrefix(base, filepath.Base(path)+".") && !strings.HasPrefix(base, filepath.Base(path)+"-") {
			continue
		}
		fi, err := os.Stat(name)
		if err != nil || !fi.Mode().IsRegular() || fi.Size() == 0 || fi.ModTime().Before(after) || oldest != "" && !fi.ModTime().Before(at) {
			continue
		}
		if named, err := os.Stat(path); err == nil && os.SameFile(fi, named) || isKnown(name, book) {
			continue
		}
		oldest, at = name, fi.ModTime()
	}
	return oldest
}

func isKnown(name string, book *Book) bool {
	f, err := os.Open(name)
	if err != nil {
		return true // it cannot be read
	}
	defer f.Close()
	return book.knows(f)
}
