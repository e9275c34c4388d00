package template

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"unsafe"
)

const (
	// MaxTemplates bounds the templates of a dictionary.
	MaxTemplates = 1 << 16
	// MaxBytes bounds the bytes of the keys of a dictionary.
	MaxBytes = 4 << 20

	version1 = 1
)

// ErrDamaged is wrapped by every error of Decode, except a *VersionError.
var ErrDamaged = errors.New("the dictionary is damaged")

var (
	errSlots    = fmt.Errorf("%w: the number of slots of a template; want at most %d", ErrDamaged, MaxSlots)
	errLiterals = fmt.Errorf("%w: the sizes of a template's literals; want at most %d bytes in all", ErrDamaged, MaxLiteral)
)

// A VersionError reports a dictionary of a version that this program does not know. If
// the checksum of its bytes was verified, it is not damaged, and must not be treated as
// such.
type VersionError struct{ Version byte }

func (e *VersionError) Error() string {
	return fmt.Sprintf("template: dictionary of version %d, this program knows up to %d: read it with the program that wrote it, or a newer one", e.Version, version1)
}

// A Dictionary is an ordered set of templates, numbered from 0. It is safe for
// concurrent use while no template is added. The zero value is empty.
type Dictionary struct {
	list  []Template
	ids   map[string]uint32 // by key
	bytes int               // of the keys
	index atomic.Pointer[literalIndex]
}

// Len returns the number of templates.
func (d *Dictionary) Len() int { return len(d.list) }

// Bytes returns the bytes of the keys of all templates, at most MaxBytes.
func (d *Dictionary) Bytes() int { return d.bytes }

// At returns template id, which must be below Len.
func (d *Dictionary) At(id uint32) Template { return d.list[id] }

// All ranges over all templates, in order.
func (d *Dictionary) All() iter.Seq2[uint32, Template] {
	return func(yield func(uint32, Template) bool) {
		for i, t := range d.list {
			if !yield(uint32(i), t) {
				return
			}
		}
	}
}

// Find returns the number of the template with a key.
func (d *Dictionary) Find(key string) (id uint32, ok bool) {
	id, ok = d.ids[key]
	return id, ok
}

// indexed returns the index of the dictionary, to which no template may be added any more.
// It is made by the first call.
func (d *Dictionary) indexed() *literalIndex {
	x := d.index.Load()
	if x == nil {
		x = newIndex(d)
		if !d.index.CompareAndSwap(nil, x) {
			x = d.index.Load()
		}
	}
	return x
}

// Add returns the number of a template, which it adds if it is new. ok is false if the
// dictionary is full: with it there would be more than MaxTemplates, or MaxBytes of
// keys; or if the template has more than MaxSlots slots or MaxLiteral bytes, so that no
// dictionary takes it.
func (d *Dictionary) Add(t Template) (id uint32, ok bool) {
	key := t.Key()
	if id, ok := d.ids[key]; ok {
		return id, true
	}
	if !Fits(t) || len(d.list) == MaxTemplates || len(key) > MaxBytes-d.bytes {
		return 0, false
	}
	return d.append(t), true
}

// Fits reports whether an empty dictionary takes a template.
func Fits(t Template) bool { return t.Slots() <= MaxSlots && len(t.text) <= MaxLiteral }

// append adds a template that is new.
func (d *Dictionary) append(t Template) uint32 {
	if d.ids == nil {
		d.ids = make(map[string]uint32)
	}
	id, key := uint32(len(d.list)), t.Key()
	d.ids[key] = id
	d.list = append(d.list, t)
	d.bytes += len(key)
	return id
}

// Clone returns a dictionary with the same templates, to which others can be added.
func (d *Dictionary) Clone() *Dictionary {
	c := &Dictionary{list: slices.Clone(d.list), bytes: d.bytes, ids: make(map[string]uint32, len(d.list))}
	for i, t := range c.list {
		c.ids[t.Key()] = uint32(i)
	}
	return c
}

// Weight returns about how many bytes of memory the dictionary takes, once plans were made
// for it.
func (d *Dictionary) Weight() int64 {
	const entry = 16 + 4 + 12 // of the map: key, id, and its table
	const literals = 4        // of the index: text in two cases, and what is known of each literal
	return int64(cap(d.list))*(int64(unsafe.Sizeof(Template{}))+entry) + (2+literals)*int64(d.bytes)
}

// Bytes of an encoded template that are not those of a literal.
const (
	slotByte   = 0x00
	endByte    = 0x01
	escapeByte = 0x02 // the next one is of a literal
)

// Append appends the encoded dictionary to dst; see the package comment.
func (d *Dictionary) Append(dst []byte) []byte {
	dst = slices.Grow(dst, 1+binary.MaxVarintLen32+d.bytes)
	dst = append(dst, version1)
	dst = binary.AppendUvarint(dst, uint64(len(d.list)))
	for _, t := range d.list {
		for i := range t.Slots() + 1 {
			if i > 0 {
				dst = append(dst, slotByte)
			}
			for _, c := range t.Literal(i) {
				if c <= escapeByte {
					dst = append(dst, escapeByte)
				}
				dst = append(dst, c)
			}
		}
		dst = append(dst, endByte)
	}
	return dst
}

// Decode decodes what Append appended, and copies p. The error wraps ErrDamaged, or is
// a *VersionError. Its memory is in proportion to the bytes of p.
func Decode(p []byte) (*Dictionary, error) {
	if len(p) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	if p[0] > version1 {
		return nil, &VersionError{Version: p[0]}
	}
	if p[0] != version1 {
		return nil, fmt.Errorf("%w: version %d; want %d", ErrDamaged, p[0], version1)
	}
	count, size, ok := uvarint(p[1:], min(MaxTemplates, uint64(len(p))))
	if !ok {
		return nil, fmt.Errorf("%w: the number of its templates, in %d bytes; want at most %d, and a byte for each", ErrDamaged, len(p), MaxTemplates)
	}
	all, err := keysOf(p[1+size:], int(count))
	if err != nil {
		return nil, err
	}
	key := string(all)
	d := &Dictionary{list: make([]Template, 0, count), ids: make(map[string]uint32, count)}
	for i := range count {
		t, n, err := parse(all, key)
		if err != nil {
			return nil, fmt.Errorf("template %d: %w", i, err)
		}
		if _, twice := d.ids[t.key]; twice {
			return nil, fmt.Errorf("template %d: %w: it is there already", i, ErrDamaged)
		}
		d.append(t)
		all, key = all[n:], key[n:]
	}
	return d, nil
}

// keysOf returns the keys of so many encoded templates, one after the other. They are
// MaxBytes at most.
func keysOf(p []byte, count int) (keys []byte, err error) {
	keys = make([]byte, 0, min(len(p)+4*count, MaxBytes))
	var text []byte
	var ends []uint32
	for i := range count {
		text, ends = text[:0], ends[:0]
		n := 0
		for ; n < len(p) && p[n] != endByte; n++ {
			switch c := p[n]; c {
			case slotByte:
				if len(ends) == MaxSlots {
					return nil, fmt.Errorf("template %d: %w", i, errSlots)
				}
				ends = append(ends, uint32(len(text)))
				continue
			case escapeByte:
				if n++; n < len(p) && p[n] > escapeByte {
					return nil, fmt.Errorf("template %d: %w: a byte %#02x behind %#02x; want at most %#02x", i, ErrDamaged, p[n], escapeByte, escapeByte)
				}
			}
			if len(text) == MaxLiteral {
				return nil, fmt.Errorf("template %d: %w", i, errLiterals)
			}
			if n < len(p) {
				text = append(text, p[n])
			}
		}
		if n >= len(p) {
			return nil, fmt.Errorf("template %d: %w: it has no end", i, ErrDamaged)
		}
		p = p[n+1:]
		if keys = (Template{text: text, ends: ends}).appendKey(keys); len(keys) > MaxBytes {
			return nil, fmt.Errorf("%w: the keys of %d of its templates have %d bytes; want at most %d", ErrDamaged, i+1, len(keys), MaxBytes)
		}
	}
	if len(p) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind its templates", ErrDamaged, len(p))
	}
	return keys, nil
}
