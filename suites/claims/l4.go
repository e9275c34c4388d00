package claims

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L4.
const (
	l4GobEach   = "gob, an encoder each"
	l4GobStream = "gob, one encoder"
	l4Binary    = "encoding/binary"
	l4Head      = "encoding/binary, payload apart"
	l4Own       = "own layout"
)

// l4Payload makes an l4Record one of 1 KiB.
const l4Payload = 1<<10 - 8 - 8 - 4

// An l4Record is a record of a write-ahead log. Its size is fixed, because encoding/binary
// requires that.
type l4Record struct {
	Position uint64
	Time     int64
	Type     uint32
	Payload  [l4Payload]byte
}

// l4Frame is the size of the head of our layout: the length of the body and its CRC-32C. The
// body has type, position and time as varints, and the payload.
const l4Frame = 4 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *l4Record) appendTo(b []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, l4Frame)...)
	b = binary.AppendUvarint(b, uint64(r.Type))
	b = binary.AppendUvarint(b, r.Position)
	b = binary.AppendVarint(b, r.Time)
	b = append(b, r.Payload[:]...)
	body := b[start+l4Frame:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Checksum(body, castagnoli))
	return b
}

var errL4 = errors.New("damaged record")

func (r *l4Record) parse(b []byte) error {
	if len(b) < l4Frame || uint64(len(b)-l4Frame) < uint64(binary.LittleEndian.Uint32(b)) {
		return errL4
	}
	body := b[l4Frame:][:binary.LittleEndian.Uint32(b)]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return errL4
	}
	kind, n := binary.Uvarint(body)
	position, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 {
		return errL4
	}
	at, k := binary.Varint(body[n+m:])
	if k <= 0 || len(body)-n-m-k != l4Payload {
		return errL4
	}
	r.Type, r.Position, r.Time = uint32(kind), position, at
	copy(r.Payload[:], body[n+m+k:])
	return nil
}

// An l4Codec encodes records one after the other, and decodes them in the same order.
type l4Codec struct {
	encode func(buf *bytes.Buffer, r *l4Record) error
	decode func(buf *bytes.Reader, r *l4Record) error
}

// l4Ways are the encodings compared. open returns a codec for one stream.
var l4Ways = []struct {
	name, doc string
	open      func() l4Codec
}{
	{l4Own, "length, CRC-32C, varints, payload; checked when decoded", ownLayout},
	{l4GobEach, "as coded: each record with an encoder of its own, which sends its types again", gobEach},
	{l4GobStream, "as gob is meant: one encoder for the stream", gobStream},
	{l4Binary, "as coded: binary.Write and binary.Read of the whole record, byte by byte", binaryWhole},
	{l4Head, "as binary is meant: so only the fields before the payload, which is copied", binaryHead},
}

func ownLayout() l4Codec {
	frame := make([]byte, 0, 2<<10)
	return l4Codec{
		func(buf *bytes.Buffer, r *l4Record) error {
			_, err := buf.Write(r.appendTo(buf.AvailableBuffer()))
			return err
		},
		func(buf *bytes.Reader, r *l4Record) error {
			frame = frame[:l4Frame]
			if _, err := io.ReadFull(buf, frame); err != nil {
				return err
			}
			n := int(binary.LittleEndian.Uint32(frame))
			if n > cap(frame)-l4Frame {
				return errL4
			}
			frame = frame[:l4Frame+n]
			if _, err := io.ReadFull(buf, frame[l4Frame:]); err != nil {
				return err
			}
			return r.parse(frame)
		},
	}
}

func gobEach() l4Codec {
	return l4Codec{
		func(buf *bytes.Buffer, r *l4Record) error { return gob.NewEncoder(buf).Encode(r) },
		func(buf *bytes.Reader, r *l4Record) error { return gob.NewDecoder(buf).Decode(r) },
	}
}

// gobStream makes its encoder and its decoder with the first record: they belong to one
// writer and one reader.
func gobStream() l4Codec {
	var enc *gob.Encoder
	var dec *gob.Decoder
	return l4Codec{
		func(buf *bytes.Buffer, r *l4Record) error {
			if enc == nil {
				enc = gob.NewEncoder(buf)
			}
			return enc.Encode(r)
		},
		func(buf *bytes.Reader, r *l4Record) error {
			if dec == nil {
				dec = gob.NewDecoder(buf)
			}
			return dec.Decode(r)
		},
	}
}

func binaryWhole() l4Codec {
	return l4Codec{
		func(buf *bytes.Buffer, r *l4Record) error { return binary.Write(buf, binary.LittleEndian, r) },
		func(buf *bytes.Reader, r *l4Record) error { return binary.Read(buf, binary.LittleEndian, r) },
	}
}

func binaryHead() l4Codec {
	var head struct {
		Position uint64
		Time     int64
		Type     uint32
	}
	return l4Codec{
		func(buf *bytes.Buffer, r *l4Record) error {
			head.Position, head.Time, head.Type = r.Position, r.Time, r.Type
			if err := binary.Write(buf, binary.LittleEndian, &head); err != nil {
				return err
			}
			_, err := buf.Write(r.Payload[:])
			return err
		},
		func(buf *bytes.Reader, r *l4Record) error {
			if err := binary.Read(buf, binary.LittleEndian, &head); err != nil {
				return err
			}
			r.Position, r.Time, r.Type = head.Position, head.Time, head.Type
			_, err := io.ReadFull(buf, r.Payload[:])
			return err
		},
	}
}

// l4Window is how many records are in memory at once.
const l4Window = 256

func l4Sample(i int64) l4Record {
	r := l4Record{Position: uint64(i) + 1, Time: 1_700_000_000_000_000_000 + i, Type: 1}
	copy(r.Payload[:], headers.Head(l4Payload))
	return r
}

func encodeRecords(b *lab.B, codec l4Codec) error {
	buf, r, size := new(bytes.Buffer), l4Sample(0), int64(0)
	for b.Loop() {
		if b.I()%l4Window == 0 {
			size += int64(buf.Len())
			buf.Reset()
		}
		r.Position++
		if err := codec.encode(buf, &r); err != nil {
			return err
		}
	}
	b.Report("bytes_per_record", float64(size+int64(buf.Len()))/float64(b.N))
	return nil
}

// decodeRecords decodes records that were encoded before. The first record of a stream
// carries its types and is decoded once.
func decodeRecords(b *lab.B, codec l4Codec) error {
	whole, first, r := new(bytes.Buffer), 0, l4Record{}
	for i := range int64(l4Window + 1) {
		sample := l4Sample(i)
		if err := codec.encode(whole, &sample); err != nil {
			return err
		}
		if i == 0 {
			first = whole.Len()
		}
	}
	src := bytes.NewReader(whole.Bytes())
	if err := codec.decode(src, &r); err != nil {
		return err
	}
	for b.Loop() {
		if src.Len() == 0 {
			if _, err := src.Seek(int64(first), io.SeekStart); err != nil {
				return err
			}
		}
		if err := codec.decode(src, &r); err != nil {
			return err
		}
	}
	if want := l4Sample((b.N-1)%l4Window + 1); r != want {
		return errors.New("the decoded record differs from the encoded one")
	}
	return nil
}

func l4(name, op string, each func(b *lab.B, codec l4Codec) error) lab.Experiment {
	e := lab.Experiment{
		Suite: "claims", Name: name, Question: "Which encoding of a log record is fastest?",
		Op: op, Stateless: true, MaxRounds: 12,
	}
	for _, w := range l4Ways {
		e.Variants = append(e.Variants, lab.Variant{
			Name: w.name, Doc: w.doc, Promise: job.NothingWritten(), Baseline: w.name == l4Own,
			Run: func(b *lab.B) error { return each(b, w.open()) },
		})
	}
	return e
}

func claimL4() Claim {
	encode := l4("L4-encode", "one record of 1 KiB encoded into memory", encodeRecords)
	decode := l4("L4-decode", "one record of 1 KiB decoded from memory", decodeRecords)
	return Claim{
		ID: "L4",
		Source: reportL.source("3.2",
			"An own layout encodes a WAL record of 1 KB in 87 us, gob in 1,820 and encoding/binary in 320."),
		Statement:   "a 1 KiB WAL record by gob, encoding/binary, own layout: encode, decode, size",
		Claimed:     "1,820/2,150 us 1,372 B; 320/290 us 1,032 B; 87/72 us 984 B",
		Promise:     noneText,
		Experiments: []lab.Experiment{encode, decode},
		judge:       func(ev *evidence) judgement { return judgeL4(ev, encode.ID(), decode.ID()) },
	}
}

// judgeL4 compares the ratios to our layout with the claimed ones.
func judgeL4(ev *evidence, encode, decode string) judgement {
	claims := []struct {
		variant              string
		encode, decode, size float64
	}{
		{l4GobEach, 1820. / 87, 2150. / 72, 1372. / 984},
		{l4GobStream, 1820. / 87, 2150. / 72, 1372. / 984},
		{l4Binary, 320. / 87, 290. / 72, 1032. / 984},
		{l4Head, 320. / 87, 290. / 72, 1032. / 984},
	}
	size := func(v string) run.Estimate { return ev.metric(encode, v, "bytes_per_record") }
	text := fmt.Sprintf("Own layout: %s, %s, %.0f B", nanos(ev.time(encode, l4Own)), nanos(ev.time(decode, l4Own)), size(l4Own).Median)
	var answers []answer
	for _, c := range claims {
		e, d, s := inverse(ev.speedup(encode, c.variant)), inverse(ev.speedup(decode, c.variant)), quotient(size(c.variant), size(l4Own))
		answers = append(answers, claimedFactor(e, c.encode), claimedFactor(d, c.decode), claimedFactor(s, c.size))
		text += fmt.Sprintf("; %s: %s (%s, claimed %.1fx), %s (%s, claimed %.1fx), %.0f B (claimed %.2fx)", c.variant,
			nanos(ev.time(encode, c.variant)), factor(e), c.encode, nanos(ev.time(decode, c.variant)), factor(d), c.decode, size(c.variant).Median, c.size)
	}
	why := fmt.Sprintf("gob and encoding/binary had to take as many times the time and the bytes of the own layout as claimed, less %.0f %%: gob with an encoder for each record, as coded, and with one for the stream; encoding/binary with the whole record, as coded, and with the payload apart. The own layout has a checksum, which is checked; the other two have none. The claimed 984 B are fewer than the 1,024 of the record, which is possible only if the payload is compressed or smaller.",
		100*slack)
	return decide(text+".", why, "the encoding and its use, and on encoding, decoding or size", answers...)
}
