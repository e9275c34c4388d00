package follow

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A candidate is a file that may be one of a source.
type candidate struct {
	name string
	fi   os.FileInfo
}

// mostListed bounds the files beside a source that are looked at.
const mostListed = 1000

// list returns the files that may be of a source: the one of its name first, if it is
// there, then those whose names begin like it, in its directory and that of the file it
// links to. All had these names at one moment: a file that is renamed meanwhile is not
// missed.
func list(path string) []candidate {
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
func sameListing(a, b []candidate) bool {
	return slices.EqualFunc(a, b, func(a, b candidate) bool { return a.name == b.name && os.SameFile(a.fi, b.fi) })
}

func listOnce(path string) (all []candidate) {
	add := func(name string) {
		if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() && len(all) < mostListed {
			all = append(all, candidate{name, fi})
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
func (c *candidate) open() *os.File {
	f, err := os.Open(c.name)
	if err != nil {
		return nil
	}
	if fi, err := f.Stat(); err == nil && os.SameFile(fi, c.fi) {
		return f
	}
	f.Close()
	return nil
}

// A match is the open file of a generation.
type match struct {
	file   *os.File
	atPath bool // it has the name of the source
}

// find returns the file that has the text of a generation up to an offset at least, or
// nil: first by its inode, then a copy, by its first bytes. It is not there only if the
// files are still the same ones after all were looked at: between the listing and the
// look, one may have been renamed, compressed, or copied and truncated.
func find(path string, g *generation, least int64) *match {
	if fi, err := os.Stat(path); err == nil && g.Identity.sameInode(fi) {
		// The usual case needs no listing, which would cost the square of the files.
		if m := findAmong([]candidate{{path, fi}}, path, g, least, true); m != nil {
			return m
		}
	}
	files := list(path)
	for range 100 {
		m := findAmong(files, path, g, least, true)
		if m == nil && g.Identity.HeadBytes >= headLeast { // else too few bytes to recognise it by
			m = findAmong(files, path, g, least, false)
		}
		if m != nil {
			return m
		}
		now := list(path)
		if sameListing(files, now) {
			return nil
		}
		files = now
	}
	return nil
}

// findAmong returns the first of the files that is that of the generation.
func findAmong(files []candidate, path string, g *generation, least int64, byInode bool) *match {
	for _, c := range files {
		if byInode && !g.Identity.sameInode(c.fi) {
			continue
		}
		f := c.open()
		if f == nil {
			continue
		}
		if g.isTextOf(f, least) {
			return &match{f, c.name == path}
		}
		f.Close()
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
func next(path string, book *Book, after time.Time) *candidate {
	if after.IsZero() {
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
			return &candidate{path, fi}
		}
		return nil
	}
	files := list(path)
	var named *candidate
	var head []byte
	if len(files) > 0 && files[0].name == path {
		named, files = &files[0], files[1:]
		head = headOfCandidate(named)
	}
	files = slices.DeleteFunc(files, func(c candidate) bool {
		return !IsGeneration(c.name, path) || c.fi.Size() == 0 || c.fi.ModTime().Before(after) || named != nil && os.SameFile(c.fi, named.fi) || isKnown(&c, book, head)
	})
	if len(files) == 0 {
		return named
	}
	slices.SortStableFunc(files, func(a, b candidate) int {
		return cmp.Or(a.fi.ModTime().Compare(b.fi.ModTime()), OlderFirst(a.name, b.name))
	})
	return &files[0]
}

// isKnown reports whether a file is a generation, or a copy of one, or one of the file
// that begins with head, perhaps not whole yet.
func isKnown(c *candidate, book *Book, head []byte) bool {
	f := c.open()
	if f == nil {
		return true // it was renamed, or cannot be read
	}
	defer f.Close()
	begin := make([]byte, headMost)
	n, err := headOf(f, begin)
	if err != nil {
		return true // it cannot be read: its compression is not known, or not done
	}
	return book.Knows(f) || len(head) > 0 && bytes.HasPrefix(head, begin[:n])
}

func headOfCandidate(c *candidate) []byte {
	f := c.open()
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
