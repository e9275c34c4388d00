package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// ErrCursor is wrapped by the error of a text that is no cursor.
var ErrCursor = errors.New("not a cursor")

var errNoCursors = setting.Wrong("logstore: Query.Cursors or After", true,
	"none: the segments of this store have the same positions of logs, or are not in their order; see OpenSegments")

// A Cursor names an entry by its place in the order of queries, so that a query
// can go on behind it: see Query.After. Two entries of a store have different
// cursors. A cursor stays what it is when its entry is sealed, compacted, or
// deleted, and when the store is opened again; it means nothing in another
// store. Cursors can be compared with ==. The zero Cursor names no entry.
//
// Entries that version 1 of segments holds have cursors for that segment only:
// once it is compacted into version 2 they keep them. Where damage has lost the
// positions of a block, its entries have cursors that hold until the segment is
// compacted; a query behind such a cursor may yield entries of the same stream
// and the same time again.
type Cursor struct {
	Time     int64  // of the entry
	Labels   Labels // of its stream
	Position uint64 // of its record in the log
	Place    uint32 // its rank among the entries of its stream in that record
}

// Compare returns a negative number if the entry of c comes before that of o in
// a query forward, a positive one if it comes after it, and 0 if both are the
// same entry.
func (c Cursor) Compare(o Cursor) int {
	if d := cmp.Compare(c.Time, o.Time); d != 0 {
		return d
	}
	return cmp.Or(c.Labels.Compare(o.Labels), compareIDs(c.id(), o.id()))
}

func (c *Cursor) id() segment2.ID { return segment2.ID{Position: c.Position, Place: c.Place} }

func compareIDs(a, b segment2.ID) int {
	return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Place, b.Place))
}

// cursorVersion begins the text of a cursor. A cursor of another form will have
// another number.
const cursorVersion = "1"

// String returns the cursor as text: a version, the time, the position and the
// place in decimal, and the labels, with colons between them. ParseCursor reads
// it.
func (c Cursor) String() string {
	return fmt.Sprintf("%s:%d:%d:%d:%s", cursorVersion, c.Time, c.Position, c.Place, c.Labels)
}

// ParseCursor reads the text of a cursor, as String writes it. Errors wrap
// ErrCursor.
func ParseCursor(text string) (Cursor, error) {
	wrong := func(why string) (Cursor, error) {
		return Cursor{}, fmt.Errorf("logstore: %w: %.100q: %s", ErrCursor, text, why)
	}
	parts := strings.SplitN(text, ":", 5)
	if parts[0] != cursorVersion {
		return wrong("want version " + cursorVersion)
	}
	if len(parts) < 5 {
		return wrong("want version:time:position:place:labels")
	}
	var c Cursor
	var err error
	if c.Time, err = strconv.ParseInt(parts[1], 10, 64); err != nil || c.Time < 0 || c.Time == math.MaxInt64 {
		return wrong("its time is no number from 0 to 9223372036854775806")
	}
	if c.Position, err = strconv.ParseUint(parts[2], 10, 64); err != nil {
		return wrong("its position is no number from 0")
	}
	place, err := strconv.ParseUint(parts[3], 10, 32)
	if err != nil {
		return wrong("its place is no number from 0 to 4294967295")
	}
	c.Place = uint32(place)
	if c.Labels, err = ParseLabels(parts[4]); err != nil {
		return wrong(err.Error())
	}
	return c, nil
}

// MarshalText returns the text of String.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText returns, as ParseCursor does.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCursor(string(text))
	return err
}

// Cursor returns the cursor of an entry that a query with Query.Cursors has
// yielded; else the zero Cursor.
func (f *Result) Cursor() Cursor {
	if f.id == (segment2.ID{}) {
		return Cursor{}
	}
	return Cursor{f.Time, f.Labels, f.id.Position, f.id.Place}
}

// A resume is the cursor behind which a search goes on.
type resume struct {
	Cursor
	sortKey string // of the labels
}

// goOn makes the search go on behind a cursor.
func (x *search) goOn(c Cursor) error {
	if c == (Cursor{}) {
		return nil
	}
	if err := setting.InRange("logstore: Query.After.Time", c.Time, 0, math.MaxInt64-1); err != nil {
		return err
	}
	x.resume = &resume{c, c.Labels.sortKey()}
	if x.backward {
		x.to = min(x.to, c.Time+1)
	} else {
		x.from = max(x.from, c.Time)
	}
	return nil
}

// comesAfter reports whether an entry of the cursor's time comes after the cursor
// in the order of the search. It calls id only for an entry of the cursor's
// stream.
func (x *search) comesAfter(sortKey string, id func() segment2.ID) bool {
	d := strings.Compare(sortKey, x.resume.sortKey)
	if d == 0 {
		d = compareIDs(id(), x.resume.id())
	}
	return d > 0 && !x.backward || d < 0 && x.backward
}

// beyondCursor reports whether the entry of a pick of the cursor's time comes
// after the cursor. Entries of spans whose labels cannot be read are.
func (r *reading) beyondCursor(l leaf, p pick, id func() segment2.ID) bool {
	n := r.spanName(l, p.span)
	return n.lost || r.x.comesAfter(n.sortKey, id)
}

// cutAtCursor cuts a range of the rows of a stream in m to those that come after
// the cursor.
func (x *search) cutAtCursor(part *rowRange, m *memtable, h *memStream, rows []memRow) {
	c := x.resume
	if c == nil {
		return
	}
	sortKey := h.of.labels.sortKey()
	// Rows of the cursor's time are the first of a search forward, and the last
	// backward. Of them, those that come after it are next to the others.
	for part.first < part.end {
		row := &rows[part.first]
		if x.backward {
			row = &rows[part.end-1]
		}
		if row.time != c.Time || x.comesAfter(sortKey, func() segment2.ID { return m.id(row) }) {
			return
		}
		if x.backward {
			part.end--
		} else {
			part.first++
		}
	}
}

// id returns the identity of a row.
func (m *memtable) id(row *memRow) segment2.ID {
	return segment2.ID{Position: m.base + uint64(row.pos), Place: uint32(row.place)}
}

// readIDs reads the identities of the rows of the frame. Where the positions are
// damaged, it makes some up: the lines are intact.
func (l *blockLeaf) readIDs(r *reading) ([]segment2.ID, error) {
	if len(r.ids) > 0 {
		return r.ids, nil
	}
	ids, err := l.in.IDs(r.x.ctx, r.ids, &r.frame)
	if err != nil && asSegmentDamage(err) == nil {
		return nil, err
	}
	last := r.frame.Runs[len(r.frame.Runs)-1]
	if r.idsLost = err != nil || len(ids) != int(last.First+last.Rows); r.idsLost {
		ids = ids[:0]
		for _, run := range r.frame.Runs {
			for row := range run.Rows {
				ids = append(ids, segment2.ID{Position: l.in.Info().Upto, Place: lostPlace(run.Seq, row)})
			}
		}
	}
	r.ids = ids
	return ids, nil
}

// lostPlace is the place of a row of a run whose positions are lost: in the order
// of the stream's rows in its segment.
func lostPlace(seq uint64, row uint32) uint32 {
	const rowBits = 20
	return uint32(min(seq, 1<<(32-rowBits)-1))<<rowBits | min(row, 1<<rowBits-1)
}

// asSegmentDamage returns err as damage of a segment, or nil.
func asSegmentDamage(err error) *segment2.CorruptError {
	bad, _ := errors.AsType[*segment2.CorruptError](err)
	return bad
}
