package logstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

// A list of entries that are imported of a damaged part lies in DIR/imports/ID.N.seen:
// for each entry its time and its checksum, 8 bytes each, little endian, in the order of
// times.
const (
	seenSuffix = ".seen"
	seenRecord = 16
	seenBuffer = 1 << 20
)

// A seenPart is a part of such a file, in bytes.
type seenPart struct {
	File string `json:"file"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// A seenList tells which entries of a part are imported, as they come in the order of
// times, and writes the list anew with those that are imported now.
type seenList struct {
	dir string

	// The list as it was.
	rest []seenPart
	in   *os.File
	buf  *bufio.Reader
	next seenEntry // if more
	more bool

	// The new one.
	out     *os.File
	name    string
	written int64 // bytes, those of pending included
	pending []byte

	time  int64 // of the entries in left; -1 before the first
	left  map[uint64]int
	count int // in left, at first
	most  int
}

type seenEntry struct {
	time int64
	sum  uint64
}

// openSeen begins a list in dir, for an importer with that name. It may keep as many
// entries of one time in memory.
func openSeen(dir, name string, old []seenPart, most int) (*seenList, error) {
	l := &seenList{dir: dir, rest: append([]seenPart(nil), old...), time: -1, most: most}
	for n := 1; ; n++ {
		l.name = fmt.Sprintf("%s.%d%s", name, n, seenSuffix)
		f, err := os.OpenFile(filepath.Join(dir, l.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		l.out = f
		break
	}
	if err := errors.Join(syncDir(dir), l.advance()); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// advance reads the next entry of the old list.
func (l *seenList) advance() error {
	for {
		if l.more = false; len(l.rest) == 0 {
			return nil
		}
		part := &l.rest[0]
		if l.in == nil {
			f, err := os.Open(filepath.Join(l.dir, part.File))
			if err != nil {
				return err
			}
			l.in, l.buf = f, bufio.NewReader(io.NewSectionReader(f, part.From, part.To-part.From))
		}
		if part.From < part.To {
			var b [seenRecord]byte
			if _, err := io.ReadFull(l.buf, b[:]); err != nil {
				return fmt.Errorf("%s is not as it was written: %w; remove DIR/imports to import all of each source, again", l.in.Name(), err)
			}
			l.next, l.more = seenEntry{int64(binary.LittleEndian.Uint64(b[:])), binary.LittleEndian.Uint64(b[8:])}, true
			return nil
		}
		l.in.Close()
		l.in, l.rest = nil, l.rest[1:]
	}
}

// copyNext copies the next entry of the old list.
func (l *seenList) copyNext() error {
	if err := l.add(l.next); err != nil {
		return err
	}
	l.rest[0].From += seenRecord
	return l.advance()
}

// has reports whether an entry is in the list, which has it once less then; else it adds
// it. Entries come in the order of their times.
func (l *seenList) has(e seenEntry) (bool, error) {
	if e.time != l.time {
		l.time, l.left, l.count = e.time, map[uint64]int{}, 0
		for l.more && l.next.time <= e.time {
			if l.next.time == e.time {
				l.left[l.next.sum]++
				l.count++
			}
			if l.count > l.most {
				return false, fmt.Errorf("%w: more than %d entries of one time where the source is damaged; set ImportOptions.Memory to more", ErrMemory, l.most)
			}
			if err := l.copyNext(); err != nil {
				return false, err
			}
		}
	}
	if l.left[e.sum] > 0 {
		l.left[e.sum]--
		return true, nil
	}
	return false, l.add(e)
}

func (l *seenList) add(e seenEntry) error {
	l.pending = binary.LittleEndian.AppendUint64(l.pending, uint64(e.time))
	l.pending = binary.LittleEndian.AppendUint64(l.pending, e.sum)
	l.written += seenRecord
	if len(l.pending) < seenBuffer {
		return nil
	}
	return l.write()
}

func (l *seenList) write() error {
	_, err := l.out.Write(l.pending)
	l.pending = l.pending[:0]
	return err
}

// end copies the rest of the old list.
func (l *seenList) end() error {
	for l.more {
		if err := l.copyNext(); err != nil {
			return err
		}
	}
	return nil
}

// parts makes the list durable, and returns where it lies.
func (l *seenList) parts() ([]seenPart, error) {
	if err := errors.Join(l.write(), sys.SyncData(l.out)); err != nil {
		return nil, err
	}
	all := append([]seenPart(nil), l.rest...)
	if l.written > 0 {
		all = append([]seenPart{{l.name, 0, l.written}}, all...)
	}
	return all, nil
}

func (l *seenList) close() error {
	err := l.out.Close()
	if l.in != nil {
		err = errors.Join(err, l.in.Close())
	}
	return err
}

// removeSeen removes the lists of an importer with that name that its state does not
// name.
func removeSeen(dir, name string, st *importState) error {
	used := map[string]bool{}
	note := func(p *importPart) {
		for _, s := range p.Seen {
			used[s.File] = true
		}
	}
	for i := range st.Parts {
		note(&st.Parts[i])
	}
	for _, p := range []*importPlace{&st.importPlace, st.Next} {
		if p != nil && p.Unit != nil {
			note(p.Unit)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		of, found := strings.CutPrefix(e.Name(), name+".")
		if found && strings.HasSuffix(of, seenSuffix) && !used[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
