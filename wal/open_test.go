package wal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func lazy() Options {
	o := small()
	o.LazyVerify = true
	return o
}

// A lazy Open does not read the records of complete segments; a Reader finds
// their damage. Open finds all other damage.
func TestLazyVerify(t *testing.T) {
	sp := grow(t, true, false)
	open := func(do func(f map[string][]byte)) (rep Report, dir string, err error) {
		files := map[string][]byte{}
		for name, b := range sp.files {
			files[name] = slices.Clone(b)
		}
		do(files)
		dir = putFiles(t, files)
		s, rep, err := openStore(dir, lazy())
		if err == nil {
			s.close(0, 0, false)
		}
		return rep, dir, err
	}
	name := func(i int) string { return segmentName(sp.segments[i]) }
	sealed, active := sp.records[sp.segments[1]], sp.records[sp.segments[2]]

	rep, _, err := open(func(map[string][]byte) {})
	if err != nil || rep.Next != sp.next || rep.First != sp.first || rep.Segments != 3 || rep.Verified >= minSegmentSize {
		t.Errorf("%+v, %v", rep, err)
	}
	hurt := sealed[len(sealed)/2]
	_, dir, err := open(func(f map[string][]byte) { f[name(1)][hurt.off+headerSize+1] ^= 1 })
	if err != nil {
		t.Errorf("within a complete segment: %v", err)
	}
	var c *CorruptError
	if _, err = Verify(dir); !errors.As(err, &c) || c.Offset != hurt.off {
		t.Errorf("reading it: %v, want damage at %d", err, hurt.off)
	}
	for _, c := range []struct {
		what string
		do   func(f map[string][]byte)
		want outcome
	}{
		{"header", func(f map[string][]byte) { f[name(1)][50] ^= 1 }, outcome{file: name(1), offset: headerSum}},
		{"first record", func(f map[string][]byte) { f[name(1)][firstOffset+16] ^= 1 }, outcome{file: name(1), offset: firstOffset}},
		{"missing", func(f map[string][]byte) { delete(f, name(1)) }, outcome{file: name(1)}},
		{"swapped", func(f map[string][]byte) { f[name(0)], f[name(1)] = f[name(1)], f[name(0)] }, outcome{file: name(0), offset: 32}},
		{"active's first record", func(f map[string][]byte) { f[name(2)][firstOffset+16] ^= 1 }, outcome{file: name(2), offset: firstOffset}},
		{"active's second record", func(f map[string][]byte) { f[name(2)][active[1].off] ^= 1 }, outcome{file: name(2), offset: active[1].off}},
		{"end record before the active", func(f map[string][]byte) { f[name(1)][sealed[len(sealed)-1].off] ^= 1 }, outcome{next: sp.next}},
		{"active's last flush", func(f map[string][]byte) { f[name(2)][active[len(active)-3].off] ^= 1 }, outcome{next: active[len(active)-3].pos}},
	} {
		rep, dir, err := open(c.do)
		var ce *CorruptError
		switch {
		case c.want.file == "" && (err != nil || rep.Next != c.want.next):
			t.Errorf("%s: %+v, %v; want the next to be %d", c.what, rep, err, c.want.next)
		case c.want.file != "" && (!errors.As(err, &ce) || ce.File != filepath.Join(dir, c.want.file) || ce.Offset != c.want.offset):
			t.Errorf("%s: %v; want damage of %s at %d", c.what, err, c.want.file, c.want.offset)
		}
	}
}

// A truncation interrupted after META was written leaves leftovers. They are
// recycled or removed.
func TestLeftovers(t *testing.T) {
	sp := grow(t, true, true)
	first := sp.segments[0]
	for _, n := range []uint64{first - 1, first - 2, first - 3} {
		sp.files[segmentName(n)] = make([]byte, minSegmentSize) // whatever it holds
	}
	sp.files[segmentName(first-3)] = []byte("of another size")
	dir := putFiles(t, sp.files)
	p, rep := openPen(t, dir, small())
	if rep.First != sp.first || rep.Next != sp.next || rep.Segments != 3 {
		t.Errorf("%+v", rep)
	}
	f, err := readListing(dir)
	if err != nil || f.numbers[0] != first-1 && f.numbers[0] != first-2 || f.numbers[1] != first {
		t.Errorf("%v, %v: one of them should be kept for use, the others removed", f.numbers, err)
	}
	p.fill(8)
	if last := p.s.last(); last.recycledFrom >= first {
		t.Errorf("segment %d was %d", last.number, last.recycledFrom)
	}
	p.close()
	checkRecords(t, dir, sp.first, p.next)
	if _, err := os.Stat(filepath.Join(dir, segmentName(f.numbers[0]))); err == nil {
		t.Error("it was not used again")
	}
}

// A log that was truncated before a position that it no longer reaches is
// damaged: its end is missing.
func TestEndBeforeTruncation(t *testing.T) {
	dir := memoryDir(t)
	p, _ := openPen(t, dir, small())
	p.append(payload(1), payload(2), payload(3))
	if err := p.s.truncate(4); err != nil {
		t.Fatal(err)
	}
	p.kill()
	path := filepath.Join(dir, segmentName(1))
	b := must(os.ReadFile(path))(t)
	clear(b[firstOffset:])
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	// A segment without a record is like a new one, in which the next record
	// has the position of META: only truncated records are missing.
	p, rep := openPen(t, dir, small())
	if rep.First != 4 || rep.Next != 4 {
		t.Errorf("%+v", rep)
	}
	p.append(payload(4))
	if err := p.s.truncate(5); err != nil {
		t.Fatal(err)
	}
	p.append(payload(5), payload(6))
	if err := p.s.truncate(7); err != nil {
		t.Fatal(err)
	}
	p.kill()
	b = must(os.ReadFile(path))(t)
	clear(b[firstOffset+headerSize+len(payload(4)):])
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := openStore(dir, small())
	if c, ok := errors.AsType[*CorruptError](err); !ok || c.File != path {
		t.Errorf("%v", err)
	}
}
