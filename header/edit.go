package header

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// An edit replaces the first oldLen bytes of a file by a new head. Every change of
// this package is an edit.
type edit struct {
	old    []byte // the first oldLen bytes of the file
	oldLen int64

	// The new head is fixed, then padLen bytes of padding. If padMore is set, more
	// padding may follow, to make whole blocks.
	fixed   []byte
	padLen  int64
	padMore bool
	pad     func([]byte) // not nil if padLen > 0 or padMore

	// record is the file's record afterwards, nil for none. The padding belongs
	// to its slot with index padSlot.
	record    *record
	padSlot   int
	header    int64 // length of the header, for Result
	recordErr error // why the file cannot have a record; nil if it can, or if that is unknown

	needsRecord bool // without a record the change fails
}

// delta returns by how many bytes the file grows, without more padding.
func (e *edit) delta() int64 { return int64(len(e.fixed)) + e.padLen - e.oldLen }

// build returns the new head with extra more bytes of padding, and the record, nil
// for none.
func (e *edit) build(extra int64) ([]byte, *record) {
	n := int64(len(e.fixed))
	head := make([]byte, n+e.padLen+extra)
	copy(head, e.fixed)
	if len(head) > len(e.fixed) {
		e.pad(head[n:])
	}
	if e.record == nil {
		return head, nil
	}
	r := &record{slots: slices.Clone(e.record.slots)}
	if e.padSlot >= 0 {
		s := &r.slots[e.padSlot]
		s.length += extra
		s.padSum = sum(head[int64(len(head))-s.free():])
	}
	r.trim()
	return head, r
}

// padToBlock returns how much padding makes delta a multiple of block, and an error
// if no padding is allowed.
func (e *edit) padToBlock(block int64) (int64, error) {
	if block < sector || block > maxBlock { // statfs(2) of a FUSE file system may return anything, often 0
		return 0, notApplicable(fmt.Sprintf("the file system reports a block size of %d bytes", block), nil)
	}
	over := e.delta() % block
	switch {
	case over == 0:
		return 0, nil
	case !e.padMore:
		return 0, notApplicable(fmt.Sprintf("the file's size changes by %d bytes, not by whole blocks of %d, and Options.Pad is not set", e.delta(), block), nil)
	case over < 0:
		return -over, nil
	}
	return block - over, nil
}

// A fileRecord is a file's record, or the reason why it has none.
type fileRecord struct {
	record    *record
	why       error // wraps ErrNoHeader if record is nil
	recordErr error // why the file cannot have a record
}

var errNoRecord = fmt.Errorf("%w: the file has no record of one", ErrNoHeader)

// readRecord reads the record. It does not compare it with the file's content.
func (t *target) readRecord() (fileRecord, error) {
	no := func(why string) (fileRecord, error) {
		return fileRecord{why: fmt.Errorf("%w: %s", ErrNoHeader, why)}, nil
	}
	b, err := getAttr(t.f, recordName)
	switch {
	case err == nil:
	case sys.NoRoomForAttr(err):
		return fileRecord{why: fmt.Errorf("%w: attributes: %w", ErrNoHeader, err), recordErr: err}, nil
	case sys.NoXattr(err):
		return fileRecord{why: errNoRecord}, nil
	default:
		return fileRecord{}, fmt.Errorf("read record: %w", err)
	}
	r, inode, err := decodeRecord(b)
	if err != nil {
		return no(err.Error())
	}
	if inode != sys.Inode(t.info) {
		return no("the record was copied with the file and belongs to another inode")
	}
	return fileRecord{record: r}, nil
}

// readSlots returns the bytes of the first n slots, or an error unless they match
// the record.
func (t *target) readSlots(r *record, n int) ([]byte, error) {
	var total int64
	for _, s := range r.slots[:n] {
		if s.length > t.size()-total {
			return nil, fmt.Errorf("%w: the file is shorter than its record says", ErrNoHeader)
		}
		total += s.length
	}
	if total > pieceSize { // the record may be wrong or forged: verify before allocating
		if err := t.verifySlots(r.slots[:n]); err != nil {
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

var errNotAsRecorded = fmt.Errorf("%w: the head of the file does not match its record", ErrNoHeader)

// verifySlots returns an error unless the head of the file matches the record. It
// does not hold all of it in memory.
func (t *target) verifySlots(slots []slot) error {
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
		if err := same(slots[i].free(), slots[i].padSum); err != nil {
			return err
		}
	}
	return nil
}

// insertBase returns the record that an insert extends, empty if there is no valid
// one, and the bytes of its first slot.
func (t *target) insertBase() (fileRecord, []byte, error) {
	k, err := t.readRecord()
	if err != nil {
		return k, nil, err
	}
	if k.record != nil && len(k.record.slots) > 0 {
		top, err := t.readSlots(k.record, 1)
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

// insertion returns the edit of Insert.
func (t *target) insertion(data []byte, o Options) (*edit, error) {
	k, top, err := t.insertBase()
	if err != nil {
		return nil, err
	}
	e := &edit{pad: o.Pad, header: int64(len(data)), recordErr: k.recordErr}
	n := int64(len(data))
	if top != nil && k.record.slots[0].fits(n, o) {
		s := k.record.slots[0]
		e.old, e.oldLen = top, s.length
		e.fixed = slices.Concat(data, top[:s.used()], top[s.used()+n:])
		s.headers = slices.Insert(slices.Clone(s.headers), 0, newEntry(data))
		e.record = k.record.with(1, s)
		return e, nil
	}
	e.fixed, e.padMore = data, o.Pad != nil
	if n > maxReserve && e.recordErr == nil {
		e.recordErr = fmt.Errorf("a header of more than %d MiB becomes content", maxReserve>>20)
	}
	e.record = k.record.with(0, slot{length: n, headers: []entry{newEntry(data)}})
	return e, nil
}

// fits reports whether a header of n bytes goes into the slot's padding.
func (s *slot) fits(n int64, o Options) bool {
	return n <= s.free() && (s.reserved || o.Pad != nil && s.free() > 0)
}

// with returns the record with the first n slots replaced by s.
func (r *record) with(n int, s ...slot) *record {
	return &record{slots: slices.Concat(s, r.slots[n:])}
}

// newest returns the record, the index of the slot with the newest header, and the
// bytes of the file up to the end of that slot. Empty slots may come before it.
func (t *target) newest() (k fileRecord, at int, head []byte, err error) {
	if k, err = t.readRecord(); err != nil {
		return k, 0, nil, err
	}
	if k.record == nil {
		return k, 0, nil, k.why
	}
	at = slices.IndexFunc(k.record.slots, func(s slot) bool { return len(s.headers) > 0 })
	if at < 0 {
		return k, 0, nil, errNoRecord
	}
	head, err = t.readSlots(k.record, at+1)
	return k, at, head, err
}

// replacement returns the edit of Replace or, if data is nil, of Remove.
func (t *target) replacement(data []byte, o Options) (*edit, error) {
	k, at, head, err := t.newest()
	if err != nil {
		return nil, err
	}
	s := k.record.slots[at]
	start := int64(len(head)) - s.length
	before, content := head[:start], head[start:]
	oldHeader, used := s.headers[0].length, s.used()
	padding := content[used:]

	if len(data) > maxReserve {
		return nil, setting.Wrong("header: Replace: data", setting.Bytes(len(data)), "1 to %d", maxReserve)
	}

	e := &edit{old: head, oldLen: int64(len(head)), pad: o.Pad, header: int64(len(data)), padSlot: at}
	e.fixed = slices.Concat(before, data, content[oldHeader:used])
	s.headers = slices.Clone(s.headers[1:])
	if data != nil {
		s.headers = slices.Insert(s.headers, 0, newEntry(data))
	}
	more, free := int64(len(data))-oldHeader, s.free()
	switch {
	case len(s.headers) == 0 && !s.reserved: // the padding is removed with the last header
		e.padSlot = -1
		e.record = &record{slots: slices.Concat(k.record.slots[:at], k.record.slots[at+1:])}
		return e, nil
	case free >= 0 && o.Pad != nil: // the slot keeps its length
		e.padLen = free
	case free >= 0 && more > 0 && s.reserved:
		e.fixed = append(e.fixed, padding[more:]...)
	case o.Pad != nil: // longer than the slot
		s.length = s.used()
		e.padMore = true
	default: // exactly the bytes given
		s.length += more
		e.fixed = append(e.fixed, padding...)
	}
	e.record = &record{slots: slices.Concat(k.record.slots[:at], []slot{s}, k.record.slots[at+1:])}
	return e, nil
}

// reservation returns the edit of Reserve, or nil if the slot is large enough.
func (t *target) reservation(size int64, o Options) (*edit, error) {
	if size < 0 || size > maxReserve {
		return nil, setting.InRange("header: Reserve: size", setting.Bytes(size), 0, maxReserve)
	}
	k, top, err := t.insertBase()
	if err != nil {
		return nil, err
	}
	if k.recordErr != nil {
		return nil, fmt.Errorf("this file cannot have a record: %w", k.recordErr)
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
	e := &edit{pad: o.Pad, padMore: true, padLen: size - s.used(), needsRecord: true}
	if old == 1 {
		e.old, e.oldLen, e.fixed = top, s.length, top[:s.used()]
	}
	s.length, s.reserved = size, true
	e.record = k.record.with(old, s)
	return e, nil
}

// swap returns the edit of Swap, or nil if there is nothing to do.
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
		old: old, oldLen: int64(len(old)), fixed: data, padMore: o.Pad != nil, pad: o.Pad,
		header: int64(len(data)), padSlot: -1,
	}, nil
}
