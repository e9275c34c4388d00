package logstore

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A recordHead is the beginning of a record, and tells what the record is for
// the batch that it belongs to:
//
//	1        version, 2
//	1        kind: 0 entries, 1 state
//	uvarint  flags: 1 tenant, 2 key, 4 source, 8 the batch goes on in a later record
//	uvarint  length of the tenant, and the tenant: with flag 1
//	16       key: with flag 2
//	uvarint  length of the source, and the source: with flag 4
//	uvarint  offset of the last entry handled: with flag 4
//	uvarint  entries of the batch handled: with flag 2 or 4
//	uvarint  when the batch was accepted, in seconds since the Unix epoch, by the
//	         time by which entries are deleted; 0 if that is not to be relied on
//
// Handled are the entries of the batch up to the last one of the record, and up
// to the end of the batch without flag 8; refused ones are counted. A batch of
// which a crash has kept the first records is continued behind them.
//
// In version 1 the head is the version alone.
type recordHead struct {
	version  byte
	tenant   string
	key      [16]byte // zero: none
	source   string   // "": none
	offset   uint64
	handled  int
	more     bool
	accepted int64 // seconds, 0 if unknown
}

// The kinds of a record.
const (
	kindEntries = 0
	kindState   = 1
)

// The flags of a head.
const (
	flagTenant = 1 << iota
	flagKey
	flagSource
	flagMore

	knownFlags = flagTenant | flagKey | flagSource | flagMore
)

const (
	// maxSource bounds the bytes of a source's name.
	maxSource = 256
	// mostHead bounds the bytes of a head beside its names.
	mostHead = 1 + 1 + 1 + 2*2 + 16 + 3*binary.MaxVarintLen64
)

func (h *recordHead) hasKey() bool { return h.key != [16]byte{} }

func (h *recordHead) flags() (f uint64) {
	if h.tenant != "" {
		f |= flagTenant
	}
	if h.hasKey() {
		f |= flagKey
	}
	if h.source != "" {
		f |= flagSource
	}
	if h.more {
		f |= flagMore
	}
	return f
}

// append appends the head of a record with entries.
func (h *recordHead) append(dst []byte) []byte {
	if h.version == 1 {
		return append(dst, 1)
	}
	f := h.flags()
	dst = binary.AppendUvarint(append(dst, h.version, kindEntries), f)
	if f&flagTenant != 0 {
		dst = appendString(dst, h.tenant)
	}
	if f&flagKey != 0 {
		dst = append(dst, h.key[:]...)
	}
	if f&flagSource != 0 {
		dst = binary.AppendUvarint(appendString(dst, h.source), h.offset)
	}
	if f&(flagKey|flagSource) != 0 {
		dst = binary.AppendUvarint(dst, uint64(h.handled))
	}
	return binary.AppendUvarint(dst, uint64(h.accepted))
}

// size returns how many bytes append appends.
func (h *recordHead) size() int {
	if h.version == 1 {
		return 1
	}
	f := h.flags()
	n := 2 + uvarintLen(f) + uvarintLen(uint64(h.accepted))
	if f&flagTenant != 0 {
		n += uvarintLen(uint64(len(h.tenant))) + len(h.tenant)
	}
	if f&flagKey != 0 {
		n += len(h.key)
	}
	if f&flagSource != 0 {
		n += uvarintLen(uint64(len(h.source))) + len(h.source) + uvarintLen(h.offset)
	}
	if f&(flagKey|flagSource) != 0 {
		n += uvarintLen(uint64(h.handled))
	}
	return n
}

// most bounds size, whatever the batch.
func (h *recordHead) most() int { return mostHead + len(h.tenant) + len(h.source) }

// head decodes a head into h, and returns the kind of the record, which is not
// empty.
func (r *recordReader) head(h *recordHead) (kind byte, err error) {
	h.version = r.p[0]
	r.off = 1
	switch {
	case h.version == 1:
		return kindEntries, nil
	case h.version != recordVersion:
		return 0, fmt.Errorf("%w: version %d; want at most %d", errRecord, h.version, recordVersion)
	case len(r.p) < 2:
		return 0, r.bad("no kind")
	}
	kind = r.p[1]
	r.off = 2
	f, err := r.uvarint()
	if err != nil {
		return 0, err
	}
	switch {
	case kind > kindState:
		return 0, r.bad(fmt.Sprintf("a record of kind %d, which this version does not know", kind))
	case f&^knownFlags != 0 || kind == kindState && f != 0:
		return 0, r.bad(fmt.Sprintf("flags %#x of a record of kind %d, which this version does not know", f, kind))
	}
	h.more = f&flagMore != 0
	if err := r.identity(h, f); err != nil {
		return 0, err
	}
	accepted, err := r.uvarint()
	if err == nil && accepted > math.MaxInt64 {
		err = r.bad("a time out of range")
	}
	h.accepted = int64(accepted)
	return kind, err
}

// identity decodes what a batch is known by, for the flags f.
func (r *recordReader) identity(h *recordHead, f uint64) (err error) {
	if f&flagTenant != 0 {
		if h.tenant, err = r.name("tenant", maxTenant); err != nil {
			return err
		}
	}
	if f&flagKey != 0 {
		if copy(h.key[:], r.p[r.off:]) < len(h.key) || !h.hasKey() {
			return r.bad("an invalid key")
		}
		r.off += len(h.key)
	}
	if f&flagSource != 0 {
		if h.source, err = r.name("source", maxSource); err != nil {
			return err
		}
		if h.offset, err = r.uvarint(); err != nil {
			return err
		}
	}
	if f&(flagKey|flagSource) == 0 {
		return nil
	}
	n, err := r.uvarint()
	if err == nil && n > math.MaxInt32 {
		err = r.bad(fmt.Sprintf("%d entries of a batch", n))
	}
	h.handled = int(n)
	return err
}

func (r *recordReader) name(what string, most int) (string, error) {
	p, err := r.bytes()
	if err == nil && (len(p) == 0 || len(p) > most) {
		err = r.bad(fmt.Sprintf("a %s of %d bytes; want 1 to %d", what, len(p), most))
	}
	return string(p), err
}
