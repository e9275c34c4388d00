package header

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// An edit puts a new head in the place of the first cut bytes of a file. All
// that this package does is that.
type edit struct {
	old []byte // the first bytes of the file, cut of them
	cut int64

	// The new head is fixed, then fill bytes of padding. Where elastic, more
	// padding may follow, which makes blocks whole.
	fixed   []byte
	fill    int64
	elastic bool
	pad     func([]byte) // is there if fill > 0 or elastic

	// record is what is kept of the file afterwards. Padding belongs to its
	// slot number last; nil: the file is to have none.
	record *record
	last   int
	header int64 // length of the header, for Result
	moot   error // why nothing can be recorded, nil if it can as far as is known

	needsRecord bool // the change is no use without it
}

// grow is by how much the file becomes longer, without more padding.
func (e *edit) grow() int64 { return int64(len(e.fixed)) + e.fill - e.cut }

// finish returns the new head with extra more bytes of padding, and the
// record, nil if there is to be none.
func (e *edit) finish(extra int64) ([]byte, *record) {
	n := int64(len(e.fixed))
	head := make([]byte, n+e.fill+extra)
	copy(head, e.fixed)
	if len(head) > len(e.fixed) {
		e.pad(head[n:])
	}
	if e.record == nil {
		return head, nil
	}
	r := &record{slots: slices.Clone(e.record.slots)}
	if e.last >= 0 {
		s := &r.slots[e.last]
		s.length += extra
		s.padSum = sum(head[int64(len(head))-s.room():])
	}
	r.trim()
	return head, r
}

// extraFor is how much padding makes grow a multiple of block, and whether
// that may be.
func (e *edit) extraFor(block int64) (int64, error) {
	if block < sector || block > maxBlock { // statfs(2) of a FUSE file system may say anything, and often 0
		return 0, unsuited(fmt.Sprintf("the file system says that its blocks are of %d bytes", block), nil)
	}
	over := e.grow() % block
	switch {
	case over == 0:
		return 0, nil
	case !e.elastic:
		return 0, unsuited(fmt.Sprintf("the file changes by %d bytes, which is not whole blocks of %d, and no padding is allowed", e.grow(), block), nil)
	case over < 0:
		return -over, nil
	}
	return block - over, nil
}

// known is what is recorded of a file, and why nothing is.
type known struct {
	record *record
	why    error // wraps ErrNoHeader if record is nil
	moot   error // why nothing can be recorded
}

var errNoneRecorded = fmt.Errorf("%w: none is recorded", ErrNoHeader)

// recorded reads the record. It has not been held against the file.
func (t *target) recorded() (known, error) {
	no := func(why string) (known, error) {
		return known{why: fmt.Errorf("%w: %s", ErrNoHeader, why)}, nil
	}
	b, err := getAttr(t.f, recordName)
	switch {
	case err == nil:
	case sys.NoRoomForAttr(err):
		return known{why: fmt.Errorf("%w: attributes: %w", ErrNoHeader, err), moot: err}, nil
	case sys.NoXattr(err):
		return known{why: errNoneRecorded}, nil
	default:
		return known{}, fmt.Errorf("read record: %w", err)
	}
	r, inode, err := decodeRecord(b)
	if err != nil {
		return no(err.Error())
	}
	if inode != sys.Inode(t.info) {
		return no("the record came with a copy and is another file's")
	}
	return known{record: r}, nil
}

// slotsOf returns the bytes of the first n slots, if they are what is recorded.
func (t *target) slotsOf(r *record, n int) ([]byte, error) {
	var total int64
	for _, s := range r.slots[:n] {
		if s.length > t.size()-total {
			return nil, fmt.Errorf("%w: the file is shorter than what is recorded", ErrNoHeader)
		}
		total += s.length
	}
	if total > pieceSize { // a record may be wrong, or lie
		if err := t.compare(r.slots[:n]); err != nil {
			return nil, err
		}
	}
	b, err := t.read(0, total)
	if err != nil {
		return nil, err
	}
	rest := b
	for i := range n {
		s := &r.slots[i]
		if !s.holds(rest[:s.length]) {
			return nil, errNotAsRecorded
		}
		rest = rest[s.length:]
	}
	return b, nil
}

var errNotAsRecorded = fmt.Errorf("%w: the head of the file is not as recorded", ErrNoHeader)

// compare finds out whether the head of the file is what is recorded, without
// having all of it in memory.
func (t *target) compare(slots []slot) error {
	off := int64(0)
	same := func(n int64, want uint32) error {
		got, err := checksum(t.f, off, n)
		off += n
		if err == nil && got != want {
			err = errNotAsRecorded
		}
		return err
	}
	for i := range slots {
		for _, e := range slots[i].headers {
			if err := same(e.length, e.sum); err != nil {
				return err
			}
		}
		if err := same(slots[i].room(), slots[i].padSum); err != nil {
			return err
		}
	}
	return nil
}

// base is the record that an insert builds on: empty where none holds.
func (t *target) base() (known, []byte, error) {
	k, err := t.recorded()
	if err != nil {
		return k, nil, err
	}
	if k.record != nil && len(k.record.slots) > 0 {
		top, err := t.slotsOf(k.record, 1)
		if err == nil {
			return k, top, nil
		}
		if !errors.Is(err, ErrNoHeader) {
			return k, nil, err
		}
	}
	k.record = &record{}
	return k, nil, nil
}

// insertion is the edit of Insert.
func (t *target) insertion(data []byte, o Options) (*edit, error) {
	k, top, err := t.base()
	if err != nil {
		return nil, err
	}
	e := &edit{pad: o.Pad, header: int64(len(data)), moot: k.moot}
	n := int64(len(data))
	if top != nil && k.record.slots[0].takes(n, o) {
		s := k.record.slots[0]
		e.old, e.cut = top, s.length
		e.fixed = slices.Concat(data, top[:s.used()], top[s.used()+n:])
		s.headers = slices.Insert(slices.Clone(s.headers), 0, newEntry(data))
		e.record = k.record.with(1, s)
		return e, nil
	}
	e.fixed, e.elastic = data, o.Pad != nil
	if n > maxRoom && e.moot == nil {
		e.moot = fmt.Errorf("a header of more than %d MiB is content", maxRoom>>20)
	}
	e.record = k.record.with(0, slot{length: n, headers: []entry{newEntry(data)}})
	return e, nil
}

// takes reports whether a header of n bytes goes into the padding.
func (s *slot) takes(n int64, o Options) bool {
	return n <= s.room() && (s.reserved || o.Pad != nil && s.room() > 0)
}

// with returns the record with the slot s in the place of the first n.
func (r *record) with(n int, s ...slot) *record {
	return &record{slots: slices.Concat(s, r.slots[n:])}
}

// last returns the header that was put there last: its slot, and the bytes up
// to the end of that. Empty slots may be before it.
func (t *target) last() (k known, at int, head []byte, err error) {
	if k, err = t.recorded(); err != nil {
		return k, 0, nil, err
	}
	if k.record == nil {
		return k, 0, nil, k.why
	}
	at = slices.IndexFunc(k.record.slots, func(s slot) bool { return len(s.headers) > 0 })
	if at < 0 {
		return k, 0, nil, errNoneRecorded
	}
	head, err = t.slotsOf(k.record, at+1)
	return k, at, head, err
}

// change is the edit of Replace and, where data is nil, Remove.
func (t *target) change(data []byte, o Options) (*edit, error) {
	k, at, head, err := t.last()
	if err != nil {
		return nil, err
	}
	s := k.record.slots[at]
	start := int64(len(head)) - s.length
	before, mine := head[:start], head[start:]
	gone, used := s.headers[0].length, s.used()
	padding := mine[used:]

	if len(data) > maxRoom {
		return nil, setting.Wrong("header: Replace: data", setting.Bytes(len(data)), "1 to %d", maxRoom)
	}

	e := &edit{old: head, cut: int64(len(head)), pad: o.Pad, header: int64(len(data)), last: at}
	e.fixed = slices.Concat(before, data, mine[gone:used])
	s.headers = slices.Clone(s.headers[1:])
	if data != nil {
		s.headers = slices.Insert(s.headers, 0, newEntry(data))
	}
	more, room := int64(len(data))-gone, s.room()
	switch {
	case len(s.headers) == 0 && !s.reserved: // the padding goes with the last
		e.last = -1
		e.record = &record{slots: slices.Concat(k.record.slots[:at], k.record.slots[at+1:])}
		return e, nil
	case room >= 0 && o.Pad != nil: // the slot stays as long as it is
		e.fill = room
	case room >= 0 && more > 0 && s.reserved:
		e.fixed = append(e.fixed, padding[more:]...)
	case o.Pad != nil: // longer than the slot
		s.length = s.used()
		e.elastic = true
	default: // exactly the bytes given
		s.length += more
		e.fixed = append(e.fixed, padding...)
	}
	e.record = &record{slots: slices.Concat(k.record.slots[:at], []slot{s}, k.record.slots[at+1:])}
	return e, nil
}

// reservation is the edit of Reserve, or nil if the room is there.
func (t *target) reservation(size int64, o Options) (*edit, error) {
	if size < 0 || size > maxRoom {
		return nil, setting.InRange("header: Reserve: size", setting.Bytes(size), 0, maxRoom)
	}
	k, top, err := t.base()
	if err != nil {
		return nil, err
	}
	if k.moot != nil {
		return nil, fmt.Errorf("nothing can be recorded of this file: %w", k.moot)
	}
	s, old := slot{}, 0
	if top != nil && k.record.slots[0].reserved {
		s, old = k.record.slots[0], 1
	}
	if s.length >= size {
		return nil, nil
	}
	if o.Pad == nil {
		return nil, setting.Wrong("header: Options.Pad", nil, "a function that fills the reserved bytes")
	}
	e := &edit{pad: o.Pad, elastic: true, fill: size - s.used(), needsRecord: true}
	if old == 1 {
		e.old, e.cut, e.fixed = top, s.length, top[:s.used()]
	}
	s.length, s.reserved = size, true
	e.record = k.record.with(old, s)
	return e, nil
}

// swap is the edit of Swap, or nil if there is nothing to do.
func (t *target) swap(old, data []byte, o Options) (*edit, error) {
	if int64(len(old)) > t.size() {
		return nil, ErrChanged
	}
	now, err := t.read(0, int64(len(old)))
	switch {
	case err != nil:
		return nil, err
	case !bytes.Equal(now, old):
		return nil, ErrChanged
	case bytes.Equal(old, data):
		return nil, nil
	}
	return &edit{
		old: old, cut: int64(len(old)), fixed: data, elastic: o.Pad != nil, pad: o.Pad,
		header: int64(len(data)), last: -1,
	}, nil
}
