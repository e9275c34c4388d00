package lokipush

import "github.com/stele-go/stele/logstore"

// The messages of a push, by field:
//
//	push       1 streams
//	stream     1 labels (text), 2 entries, 3 hash
//	entry      1 timestamp, 2 line, 3 metadata, 4 parsed (of answers), 100 offset (of stele)
//	timestamp  1 seconds, 2 nanoseconds
//	metadata   1 name, 2 value
//
// Unknown fields are skipped, as protobuf asks for.
const offsetField = 100

// wire types
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// Protobuf decodes a push, replacing what the decoder had. The error is an *Error, or
// wraps that of the Account.
func (d *Decoder) Protobuf(body []byte) error {
	d.reset()
	r := reader{body, 0, len(body)}
	for r.at < r.end {
		field, wire, ok := r.tag()
		if !ok {
			return d.fail(r.at, "not a protobuf message")
		}
		if field == 1 && wire == wireBytes {
			stream, ok := r.message()
			if !ok {
				return d.fail(r.at, "a stream is cut off")
			}
			if err := d.stream(stream); err != nil {
				return err
			}
		} else if !r.skip(wire) {
			return d.fail(r.at, "field %d is cut off", field)
		}
	}
	return nil
}

// stream decodes a stream. Its labels come first in what all known clients send.
func (d *Decoder) stream(r reader) error {
	begun := r
	labels, err := d.streamLabels(&r)
	if err != nil {
		return err
	}
	if err := d.begin(r.at, formText, labels); err != nil {
		return err
	}
	r = begun
	for r.at < r.end {
		field, wire, tagged := r.tag()
		if !tagged {
			return d.fail(r.at, "a stream has no field here")
		}
		if field != 2 || wire != wireBytes {
			if !r.skip(wire) {
				return d.fail(r.at, "field %d of a stream is cut off", field)
			}
			continue
		}
		entry, whole := r.message()
		if !whole {
			return d.fail(r.at, "an entry is cut off")
		}
		if err := d.entry(entry); err != nil {
			return err
		}
	}
	d.end()
	return nil
}

// streamLabels returns the text of the labels of a stream.
func (d *Decoder) streamLabels(r *reader) ([]byte, error) {
	for r.at < r.end {
		field, wire, ok := r.tag()
		if !ok {
			return nil, d.fail(r.at, "a stream has no field here")
		}
		if field == 1 && wire == wireBytes {
			m, ok := r.message()
			if !ok {
				return nil, d.fail(r.at, "labels are cut off")
			}
			return m.bytes(), nil
		}
		if !r.skip(wire) {
			return nil, d.fail(r.at, "field %d of a stream is cut off", field)
		}
	}
	return nil, nil
}

func (d *Decoder) entry(r reader) error {
	var time int64
	var line []byte
	d.beginEntry()
	metaFrom, metaEnd := -1, -1 // where metadata lie, as long as they lie together
	for r.at < r.end {
		begun := r.at
		field, wire, ok := r.tag()
		switch {
		case !ok:
			return d.fail(r.at, "an entry has no field here")
		case wire == wireBytes && field <= 3 && field > 0:
			m, ok := r.message()
			if !ok {
				return d.fail(r.at, "field %d of an entry is cut off", field)
			}
			switch field {
			case 1:
				if time, ok = timestamp(m); !ok {
					return d.fail(m.at, "not a timestamp")
				}
			case 2:
				line = m.bytes()
			case 3:
				if !d.pair(m) {
					return d.fail(m.at, "not a name and a value of metadata")
				}
				if metaEnd != begun {
					if metaFrom >= 0 {
						begun = len(r.p) // not in one piece
					}
					metaFrom = begun
				}
				metaEnd = r.at
			}
		case field == offsetField && wire == wireVarint:
			v, ok := r.varint()
			if !ok {
				return d.fail(r.at, "an offset is cut off")
			}
			d.offsets = append(d.offsets, v)
		default:
			if !r.skip(wire) {
				return d.fail(r.at, "field %d of an entry is cut off", field)
			}
		}
	}
	var raw []byte
	if metaFrom >= 0 && metaFrom < metaEnd {
		raw = r.p[metaFrom:metaEnd]
	}
	return d.add(r.at, time, line, raw)
}

// pair reads a name and a value of metadata.
func (d *Decoder) pair(r reader) bool {
	var l logstore.Label
	for r.at < r.end {
		field, wire, ok := r.tag()
		if !ok {
			return false
		}
		if wire == wireBytes && (field == 1 || field == 2) {
			m, ok := r.message()
			if !ok {
				return false
			}
			if field == 1 {
				l.Name = view(m.bytes())
			} else {
				l.Value = view(m.bytes())
			}
		} else if !r.skip(wire) {
			return false
		}
	}
	d.addPair(l)
	return true
}

func timestamp(r reader) (int64, bool) {
	var seconds, nanos int64
	for r.at < r.end {
		field, wire, ok := r.tag()
		if !ok {
			return 0, false
		}
		if wire != wireVarint {
			if !r.skip(wire) {
				return 0, false
			}
			continue
		}
		v, ok := r.varint()
		if !ok {
			return 0, false
		}
		switch field {
		case 1:
			seconds = int64(v)
		case 2:
			nanos = int64(int32(v))
		}
	}
	return nanoseconds(seconds, nanos), true
}

// A reader reads the fields of p[at:end].
type reader struct {
	p       []byte
	at, end int
}

func (r *reader) bytes() []byte { return r.p[r.at:r.end:r.end] }

func (r *reader) varint() (v uint64, ok bool) {
	if r.at < r.end {
		if b := r.p[r.at]; b < 0x80 {
			r.at++
			return uint64(b), true
		}
	}
	for shift := uint(0); shift < 64 && r.at < r.end; shift += 7 {
		b := r.p[r.at]
		r.at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, shift < 63 || b <= 1
		}
	}
	return 0, false
}

func (r *reader) tag() (field, wire int, ok bool) {
	v, ok := r.varint()
	if !ok || v>>3 == 0 || v>>3 > 1<<29-1 {
		return 0, 0, false
	}
	return int(v >> 3), int(v & 7), true
}

// message cuts off what a length stands before.
func (r *reader) message() (m reader, ok bool) {
	n, ok := r.varint()
	if !ok || n > uint64(r.end-r.at) {
		return reader{}, false
	}
	m = reader{r.p, r.at, r.at + int(n)}
	r.at = m.end
	return m, true
}

// skip skips the value of a field.
func (r *reader) skip(wire int) (ok bool) {
	n := 0
	switch wire {
	case wireVarint:
		_, ok = r.varint()
		return ok
	case wireBytes:
		_, ok = r.message()
		return ok
	case wire64:
		n = 8
	case wire32:
		n = 4
	default: // groups are of the time before Loki
		return false
	}
	if r.end-r.at < n {
		return false
	}
	r.at += n
	return true
}
