package wal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
)

// A uselessSegment is a file behind the tail that has never been written to
// since it was prepared, and cannot be used: it is damaged, or the number before
// it is not that of an intact segment.
type uselessSegment struct {
	path    string
	damaged bool
}

// checkPrepared appends the segments behind the tail that were never used to
// r.segments, or to r.useless. It returns the first that was used, which makes
// the log damaged, or nil. most is the highest position that a record in the
// tail could have.
//
// A segment is complete, durably, before the next one gets a record, and the
// tail is not complete. So whatever became of a file behind it, no record is
// lost with it. That rests on the end of the tail being as it was written: if
// the end record was damaged, the tail only looks torn, and the log goes on
// behind it. So each file is searched for records, also one whose header is
// damaged.
func (r *logScan) checkPrepared(prepared []segmentScan, most Position, lazy bool) (used *segmentScan, err error) {
	want := r.last.g.number + 1
	for i := range prepared {
		p := &prepared[i]
		most += Position(cmp.Or(p.g.size, maxSegmentSize)/headerSize) + 1
		used, damaged, err := p.use(r.next, most, lazy)
		if used || err != nil {
			return p, err
		}
		if damaged || p.g.number != want {
			r.useless = append(r.useless, uselessSegment{p.g.path, damaged})
			continue
		}
		r.segments = append(r.segments, p.g)
		want++
	}
	return nil, nil
}

// use reports whether a segment behind the tail was used, for records with
// positions from lo to hi, and if not, whether it is damaged. If lazy, only a
// segment with a damaged header is searched for records.
func (s *segmentScan) use(lo, hi Position, lazy bool) (used, damaged bool, err error) {
	switch {
	case s.unreadable:
		used, err = usedUnreadable(s.g.path, lo, hi)
		if used {
			c := *s.corrupt
			c.Reason += "; there are records in it"
			s.corrupt = &c
		}
		return used, true, err
	case s.hasRecord || s.damage:
		return true, false, nil
	case lazy:
		return false, false, nil
	}
	t, err := searchClosed(s.g, firstOffset, lo, hi)
	return t.heads > 0, t.exists(s.g), err
}

// usedUnreadable reports whether records were written to the file path behind
// the tail, whose header is not that of its number, since it was prepared.
//
// If the header has a right checksum, the file belongs to another place or to
// another log. Then any record that its salt makes valid counts. Else the salt
// is not known, and a record counts whose payload has the right checksum and
// whose position is lo, that of the next record of the log, or later. A file
// that was recycled may have older records, all discarded: their positions, and
// those of the control records between them, are at most lo, and below lo for
// data.
func usedUnreadable(path string, lo, hi Position) (bool, error) {
	f, err := openFile(path, false)
	if err != nil {
		return false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("wal: %w", err)
	}
	g := &segment{path: path, size: min(fi.Size(), maxSegmentSize), file: f}
	b, err := g.readAt(make([]byte, headerSum+4), 0)
	if err != nil {
		return false, err
	}
	if !validHeader(b) {
		return searchUnsalted(g, lo, hi)
	}
	g.size = maxSegmentSize // a record may reach beyond the end of a file that was cut off
	g.seed = seedOf(binary.LittleEndian.Uint64(b[48:]))
	t, err := searchTornTail(g, firstOffset, 1, math.MaxUint64)
	return t.heads > 0, err
}

// errFound ends a search.
var errFound = errors.New("found")

// searchUnsalted reports whether g has a data record with a position from lo to
// hi, or a control record with a higher one than lo, as told by the checksum of
// the payload alone.
func searchUnsalted(g *segment, lo, hi Position) (bool, error) {
	// Bytes that look like heads everywhere, as somebody may write them into a
	// payload, must not make the search long: then they count as records.
	left := 4 * g.size
	var buf []byte
	_, err := g.search(firstOffset, lo, hi, func(o int64, head []byte) error {
		var r record
		r.decode(head, o)
		if !r.fits(g.size) || r.typ != typeData && r.pos == lo {
			return nil
		}
		if left -= r.next - o; left < 0 {
			return errFound
		}
		ok, err := g.verify(r, head, &buf)
		if ok {
			return errFound
		}
		return err
	})
	if err == errFound {
		return true, nil
	}
	return false, err
}

// discard removes useless segments, the damaged ones by setAside if there is
// one. Those that are needed are created again. The caller syncs the directory.
//
// A crash may leave any part of this. The next Open judges what is left by the
// same rule: it does not depend on the files that are gone.
func (s *store) discard(useless []uselessSegment, setAside func(path string) error) error {
	for _, u := range useless {
		if u.damaged && setAside != nil {
			if err := setAside(u.path); err != nil {
				return fmt.Errorf("wal: set aside %s: %w", u.path, err)
			}
		}
		if err := s.d.Remove(filepath.Base(u.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pathError("remove", u.path, err)
		}
	}
	return nil
}
