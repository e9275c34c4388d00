package power

import (
	"fmt"
	"io"
	"os"
)

const pageSize = 4096

type page [pageSize]byte

// An image is the content of a device, by page; a page of zeros may be nil.
// Clones share pages until one writes to them.
type image struct {
	pages []*page
	own   map[int]bool // pages that no clone shares
}

func newImage(size int64) *image {
	return &image{pages: make([]*page, size/pageSize), own: map[int]bool{}}
}

func (m *image) size() int64 { return int64(len(m.pages)) * pageSize }

func (m *image) clone() *image {
	clear(m.own)
	c := newImage(m.size())
	copy(c.pages, m.pages)
	return c
}

// write writes data, or n zeros if data is nil, at off.
func (m *image) write(off, n int64, data []byte) {
	for n > 0 {
		i, at := int(off/pageSize), int(off%pageSize)
		part := min(n, pageSize-int64(at))
		switch {
		case data == nil && part == pageSize:
			m.pages[i] = nil
			delete(m.own, i)
		case data == nil:
			clear(m.writable(i)[at : at+int(part)])
		default:
			copy(m.writable(i)[at:], data[:part])
			data = data[part:]
		}
		off += part
		n -= part
	}
}

func (m *image) writable(i int) *page {
	if !m.own[i] {
		p := new(page)
		if m.pages[i] != nil {
			*p = *m.pages[i]
		}
		m.pages[i] = p
		m.own[i] = true
	}
	return m.pages[i]
}

// readImage reads the whole of f.
func readImage(f *os.File) (*image, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size()%pageSize != 0 {
		return nil, fmt.Errorf("power: image %s: %d bytes; want a multiple of %d", f.Name(), fi.Size(), pageSize)
	}
	m := newImage(fi.Size())
	buf := make([]byte, 256*pageSize)
	for off := int64(0); off < m.size(); {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), m.size()-off)], off)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if n == 0 || n%pageSize != 0 {
			return nil, fmt.Errorf("power: image %s: read %d bytes at %d: %w", f.Name(), n, off, io.ErrUnexpectedEOF)
		}
		for i := 0; i < n; i += pageSize {
			if b := (*page)(buf[i:]); *b != (page{}) {
				p := *b
				m.pages[(off+int64(i))/pageSize] = &p
			}
		}
		off += int64(n)
	}
	return m, nil
}

// writeTo makes the empty file f a sparse copy of m.
func (m *image) writeTo(f *os.File) error {
	if err := f.Truncate(m.size()); err != nil {
		return err
	}
	var run []byte // of pages that follow each other
	for i := 0; i <= len(m.pages); i++ {
		if i < len(m.pages) && m.pages[i] != nil {
			run = append(run, m.pages[i][:]...)
			continue
		}
		if len(run) > 0 {
			if _, err := f.WriteAt(run, int64(i)*pageSize-int64(len(run))); err != nil {
				return err
			}
			run = run[:0]
		}
	}
	return nil
}
