package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
)

// expand returns a block of version 2 whose head is not compressed, so that reseal2 can mend
// it.
func expand(t testing.TB, p []byte) []byte {
	t.Helper()
	var h header2
	if err := h.parse(p); err != nil {
		t.Fatal(err)
	}
	rest := p[header2Size+h.table:]
	head, rest := rest[:h.headStored], rest[h.headStored:]
	if h.compressed {
		var z decompressor
		var err error
		if head, err = z.decompress(nil, head, int(h.headRaw)); err != nil {
			t.Fatal(err)
		}
	}
	h.compressed, h.headStored = false, h.headRaw
	out := make([]byte, header2Size)
	h.put(out)
	out = append(append(append(out, p[header2Size:header2Size+h.table]...), head...), rest...)
	reseal2(out)
	return out
}

// reseal2 recomputes the checksums of a block of version 2 whose head is not compressed, of
// what lies within it.
func reseal2(p []byte) {
	if len(p) < header2Size {
		return
	}
	le := binary.LittleEndian
	rest := p[header2Size:]
	if n := uint64(le.Uint32(p[24:])); n <= uint64(len(rest)) {
		le.PutUint32(p[28:], checksum(rest[:n]))
		rest = rest[n:]
		if n := uint64(le.Uint32(p[8:])); n <= uint64(len(rest)) {
			resealSections(rest[:n], rest[n:], int(min(le.Uint32(p[16:]), maxTemplates)))
			le.PutUint32(p[20:], checksum(rest[:n]))
		}
	}
	le.PutUint32(p[header2SumAt:], checksum(p[:header2SumAt]))
}

// resealSections recomputes the checksums of the sections in a head.
func resealSections(head, stored []byte, templates int) {
	number := func() uint64 {
		v, n := binary.Uvarint(head)
		head = head[max(n, 0):]
		return v
	}
	columns := number()
	for range templates {
		for range min(number(), uint64(len(head))) {
			number()
		}
	}
	for range min(3*columns, uint64(len(head))) {
		number()
	}
	for range min(number(), uint64(len(head))) {
		size := number()
		size -= number()
		if size > uint64(len(stored)) || len(head) < 4 {
			return
		}
		sum := uint32(0)
		if size > 0 {
			sum = checksum(stored[:size])
		}
		binary.LittleEndian.PutUint32(head, sum)
		head, stored = head[4:], stored[size:]
	}
}

// hostileRows are rows with columns of many kinds, a few of each.
func hostileRows() []row {
	rows := serviceRows(40)
	for i := range rows[:10] {
		rows[i].line += " plain \xff"
	}
	return rows
}

// checkHostile reads a block that may have been made by anyone, in each way, and then good.
func checkHostile(t *testing.T, d *Decoder, p []byte, dictionary *template.Dictionary, needle string) error {
	t.Helper()
	told := func(err error) error {
		_, later := errors.AsType[*VersionError](err)
		if err != nil && !errors.Is(err, ErrDamaged) && !later {
			t.Fatalf("an error of another kind: %v", err)
		}
		return err
	}
	plan := template.NewPlan(template.NewQuery(template.Has(template.NewNeedle([]byte(needle), template.Bytes))), dictionary)
	if err := told(d.Open(p, dictionary)); err != nil {
		return err
	}
	m, ok, err := d.Search(plan)
	if told(err) == nil && ok && told(d.LinesOf(m.May)) == nil {
		for i := range d.Rows() {
			if line := d.Line(i); len(line) > 0 && hasBit(m.Sure, i) && !bytes.Contains(line, []byte(needle)) {
				t.Fatalf("%q has no %q", line, needle)
			}
		}
	}
	if _, err := decodeWith(d, p, dictionary); told(err) != nil {
		return err
	}
	var lines []string
	for i := range d.Rows() {
		lines = append(lines, string(d.Line(i)))
	}
	one := make([]uint64, (d.Rows()+63)/64)
	for i := 0; i < d.Rows(); i += max(1, d.Rows()/5) {
		clear(one)
		one[i/64] = 1 << (i % 64)
		if err := told(d.Open(p, dictionary)); err != nil {
			return err
		}
		if err := told(d.LinesOf(one)); err == nil && string(d.Line(i)) != lines[i] {
			t.Fatalf("row %d alone is %q; want %q", i, d.Line(i), lines[i])
		}
	}
	return nil
}

// No bytes make a Decoder panic, and it reads the next block after them. Checksums are fixed,
// else nothing would get past them.
func FuzzDecoder2(f *testing.F) {
	e := Encoder{Miner: template.NewMiner()}
	want := hostileRows()
	good, dictionary := encode2(f, &e, want)
	good = expand(f, good)
	f.Add(good, "GET /items")
	f.Add(good, "10.0.")
	f.Add(good, "7")
	var d Decoder // for all inputs of this process, which come one by one
	f.Fuzz(func(t *testing.T, p []byte, needle string) {
		p = bytes.Clone(p)
		reseal2(p)
		if len(p) > 0 && p[0] == version1 {
			return
		}
		_ = checkHostile(t, &d, p, dictionary, needle)
		got, err := decodeWith(&d, good, dictionary)
		if err == nil {
			err = same(got, want)
		}
		if err != nil {
			t.Errorf("the next block: %v", err)
		}
	})
}

// TestMutated2 changes a few bytes at a time, with checksums that match.
func TestMutated2(t *testing.T) {
	e := Encoder{Miner: template.NewMiner()}
	good, dictionary := encode2(t, &e, hostileRows())
	good = expand(t, good)
	var d Decoder
	if err := checkHostile(t, &d, good, dictionary, "GET"); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	refused := 0
	for range 3000 {
		p := bytes.Clone(good)
		for range 1 + rng.IntN(3) {
			i := rng.IntN(len(p))
			if rng.IntN(3) == 0 {
				i = rng.IntN(min(len(p), 400))
			}
			p[i] ^= 1 << rng.IntN(8)
		}
		p[0] = version2
		reseal2(p)
		if checkHostile(t, &d, p, dictionary, "GET") != nil {
			refused++
		}
	}
	if refused < 500 || refused == 3000 {
		t.Errorf("%d of 3000 are refused", refused)
	}
}
