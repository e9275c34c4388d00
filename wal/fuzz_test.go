package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// memorySegment returns a segment with content from firstOffset on.
func memorySegment(t testing.TB, content []byte) *segment {
	t.Helper()
	f, err := os.CreateTemp(memoryDir(t), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	g := &segment{path: f.Name(), number: 1, salt: 42, seed: seedOf(42), size: minSegmentSize, file: f}
	setContent(t, g, content)
	return g
}

func setContent(t testing.TB, g *segment, content []byte) {
	t.Helper()
	err := errors.Join(g.file.Truncate(0), g.file.Truncate(g.size))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.write(content[:min(len(content), int(g.size)-firstOffset)], firstOffset); err != nil {
		t.Fatal(err)
	}
}

// A few records, and their offsets.
func fewRecords(g *segment) (content []byte, offs []int64) {
	offs = []int64{firstOffset}
	for pos := Position(1); pos < 12; pos++ {
		off := offs[len(offs)-1]
		b := payload(pos)[:min(len(payload(pos)), 300)]
		content = g.appendRecord(content, off, typeData, pos, uint32(off-offs[max(0, len(offs)-3)]), checksum(b), b)
		offs = append(offs, firstOffset+int64(len(content)))
	}
	return content, offs
}

// Whatever bytes a segment holds, the scanner returns only records that are
// there byte for byte, and searching the rest does no harm.
func FuzzScanner(f *testing.F) {
	g := &segment{seed: seedOf(42)}
	content, offs := fewRecords(g)
	f.Add(content)
	f.Add(content[offs[1]-firstOffset:])
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1, 0, 0, 0}, 3000))
	f.Add(g.appendRecord(nil, firstOffset, typeEnd, 9, 0, checksum([]byte{2, 0, 0, 0, 0, 0, 0, 0}), []byte{2, 0, 0, 0, 0, 0, 0, 0}))
	f.Add(g.appendRecord(nil, firstOffset, 200, 9, 0, 0, nil))
	f.Add(g.appendRecord(nil, firstOffset, typeData, 9, 1<<31, 0, nil))
	seg := memorySegment(f, nil)
	f.Fuzz(func(t *testing.T, content []byte) {
		setContent(t, seg, content)
		whole := make([]byte, seg.size)
		copy(whole[firstOffset:], content)
		var c scanner
		last := Position(0)
		for c.reset(seg, firstOffset, 0); ; {
			r, err := c.next(seg.size)
			if err != nil {
				if err != errEnd && err != errInvalid {
					t.Fatal(err)
				}
				break
			}
			again := seg.appendRecord(nil, r.off, r.typ, r.pos, r.back, checksum(r.payload), r.payload)
			if !bytes.Equal(again, whole[r.off:r.next]) {
				t.Fatalf("record %+v is not at its place", r)
			}
			if last != 0 && r.pos != last {
				t.Fatalf("position %d follows, want %d", r.pos, last)
			}
			if last = r.pos; r.typ == typeData {
				last++
			}
		}
		tear, err := searchTornTail(seg, c.off, 1, 1<<40)
		if err != nil || tear.filled > seg.size || tear.written > seg.size {
			t.Fatalf("%+v, %v", tear, err)
		}
	})
}

// A changed log yields the records that were written, up to the first changed
// one, and no others.
func FuzzMutatedSegment(f *testing.F) {
	seg := memorySegment(f, nil)
	content, offs := fewRecords(seg)
	f.Add([]byte{0, 10, 0, 3, 0})
	f.Add([]byte{1, 200, 0, 40, 0, 3, 0, 1, 100, 0})
	f.Add([]byte{2, 0, 2, 200, 0})
	f.Add([]byte{4, 0, 0, 100, 0, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, ops []byte) {
		got := mutate(slices.Clone(content), content, ops)
		setContent(t, seg, got)
		var c scanner
		c.reset(seg, firstOffset, 1)
		for i := 0; ; i++ {
			r, err := c.next(seg.size)
			if err == nil && (i >= len(offs)-1 || r.off != offs[i] || !bytes.Equal(r.payload, content[r.off-firstOffset+headerSize:r.next-firstOffset])) {
				t.Fatalf("record %+v was not written", r)
			}
			if err == nil {
				continue
			}
			if i < len(offs)-1 && offs[i+1]-firstOffset <= int64(len(got)) && bytes.Equal(got[:offs[i+1]-firstOffset], content[:offs[i+1]-firstOffset]) {
				t.Fatalf("record %d is whole, and not returned: %v", i+1, c.corrupt())
			}
			return
		}
	})
}

// mutate changes b as ops say: five bytes for each change, for its kind, offset
// and length.
func mutate(b, old, ops []byte) []byte {
	for ; len(ops) >= 5 && len(b) > 0; ops = ops[5:] {
		at := int(binary.LittleEndian.Uint16(ops[1:])) % len(b)
		n := min(int(binary.LittleEndian.Uint16(ops[3:])), len(b)-at)
		switch ops[0] % 7 {
		case 0:
			b[at] ^= max(ops[3], 1)
		case 1:
			clear(b[at : at+n])
		case 2: // bytes from elsewhere in the log
			from := n * 7 % len(b)
			copy(b[at:at+n], b[from:])
		case 3: // zeros to the end
			clear(b[at:])
		case 4: // swapped bytes
			other := (at + n) % len(b)
			n = min(n, len(b)-max(at, other))
			tmp := slices.Clone(b[at : at+n])
			copy(b[at:at+n], b[other:other+n])
			copy(b[other:other+n], tmp)
		case 5: // the same bytes before the file was recycled
			if at < len(old) {
				copy(b[at:at+n], old[at:])
			}
		case 6:
			fillGarbage(b[at:at+n], n)
		}
	}
	return b
}

func FuzzMeta(f *testing.F) {
	m := newMeta()
	f.Add(metaFile(m))
	m.sequence, m.first, m.segment, m.next = 7, 1000, 3, 1001
	newer := m.encode()
	f.Add(append(metaFile(m)[:metaApart], newer...))
	f.Add([]byte(metaMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, slot, degraded, err := parseMeta(b, "META")
		if err != nil {
			_, corrupt := errors.AsType[*CorruptError](err)
			_, other := errors.AsType[*VersionError](err)
			if !corrupt && !other {
				t.Fatal(err)
			}
			return
		}
		at := (1 - slot) * metaApart
		if enc := m.encode(); !bytes.Equal(enc[:metaSum+4][16:], b[at : at+metaSum+4][16:]) || string(b[at:at+8]) != metaMagic {
			t.Fatalf("%+v is not in slot %d (degraded: %v)", m, 1-slot, degraded)
		}
	})
}

// A changed directory opens with an error that names the damage, or yields
// written records, from the first on without a gap, and takes new ones.
func FuzzMutatedFolder(f *testing.F) {
	specimens := []*specimen{grow(f, false, false), grow(f, true, true)}
	f.Add([]byte{0, 1, 0, 0, 32, 1, 0})
	f.Add([]byte{1, 2, 3, 0, 64, 0, 64})
	f.Add([]byte{0, 9, 1, 0, 0, 0, 0})
	f.Add([]byte{1, 4, 5, 0, 200, 0, 1, 2, 6, 0, 10, 99, 1})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) < 2 {
			return
		}
		sp := specimens[ops[0]%2]
		if err := sp.tryOpen(t, sp.changed(ops)); err != nil {
			t.Fatalf("%v: %v", ops, err)
		}
	})
}

// changed returns the files of the specimen, changed as ops say: the second byte
// is for two files and what happens to them, the rest for mutate.
func (sp *specimen) changed(ops []byte) map[string][]byte {
	files := map[string][]byte{}
	for name, b := range sp.files {
		files[name] = slices.Clone(b)
	}
	list := slices.Sorted(maps.Keys(files))
	name, other := list[int(ops[1])%len(list)], list[int(ops[1]>>4)%len(list)]
	switch ops[1] >> 6 {
	case 0, 1:
		files[name] = mutate(files[name], sp.old, ops[2:])
	case 2:
		files[name], files[other] = files[other], mutate(files[name], sp.old, ops[2:])
	case 3:
		delete(files, name)
		files[other] = mutate(files[other], sp.old, ops[2:])
	}
	return files
}

// tryOpen opens a log of changed files.
func (sp *specimen) tryOpen(t testing.TB, files map[string][]byte) error {
	dir, err := os.MkdirTemp(memoryDir(t), "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			return err
		}
	}
	s, rep, err := openStore(dir, small())
	if err != nil {
		_, corrupt := errors.AsType[*CorruptError](err)
		_, version := errors.AsType[*VersionError](err)
		if !corrupt && !version {
			return err
		}
		return nil
	}
	p := &pen{t: t, s: s}
	p.g, p.off, p.next = s.tail()
	p.durable = p.off
	p.append(second(p.next))
	p.kill()
	if s, _, err = openStore(dir, small()); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	s.close(0, 0, false)
	got := records(t, dir)
	if rep.First != sp.first {
		return fmt.Errorf("it begins at %d", rep.First)
	}
	if len(got) == 0 || !bytes.Equal(got[len(got)-1].Data, second(rep.Next)) {
		return fmt.Errorf("the record appended after %+v is not there", rep)
	}
	return hold(got[:len(got)-1], rep.First, rep.Next)
}
