package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A specimen is a log to be damaged: three used segments, and one prepared.
type specimen struct {
	name        string
	files       map[string][]byte
	old         []byte              // an earlier content of a recycled segment
	segments    []uint64            // used
	records     map[uint64][]record // of each, without payloads
	prepared    uint64
	first, next Position
	least       Position // that META says the log has reached
}

// grow makes a specimen. recycled: its files were recycled. clean: it was
// closed; otherwise it ends with three records of one flush.
func grow(t testing.TB, recycled, clean bool) *specimen {
	t.Helper()
	dir := memoryDir(t)
	o := small()
	o.Spares = 2
	p, _ := openPen(t, dir, o)
	p.fill(3)
	for recycled && (p.s.used[1].recycledFrom == 0 || p.s.last().recycledFrom == 0) {
		if err := p.s.truncate(p.s.last().first); err != nil {
			t.Fatal(err)
		}
		p.fill(3)
	}
	p.write(payload(p.next), payload(p.next+1), payload(p.next+2))
	p.sync()
	sp := &specimen{
		name:    fmt.Sprintf("recycled=%v clean=%v", recycled, clean),
		files:   map[string][]byte{},
		records: map[uint64][]record{},
		first:   p.s.first(), next: p.next,
	}
	for _, g := range p.s.used {
		sp.segments = append(sp.segments, g.number)
	}
	p.s.prepare()
	p.s.mu.Lock()
	for len(p.s.ready) == 0 {
		p.s.cond.Wait()
	}
	sp.prepared = p.s.ready[0].number
	p.s.mu.Unlock()
	if clean {
		p.close()
	} else {
		p.kill()
	}
	sp.least = p.s.meta.next
	in, err := Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range in.Records(1) {
		if err != nil {
			t.Fatal(err)
		}
		sp.records[r.Segment] = append(sp.records[r.Segment], record{
			pos: r.Position, back: uint32(r.Back), off: r.Offset, next: r.Offset + headerSize + int64(len(r.Data)),
			typ: map[string]byte{"data": typeData, "end": typeEnd, "closed": typeClosed}[r.Type],
		})
	}
	for _, e := range must(os.ReadDir(dir))(t) {
		sp.files[e.Name()] = must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
	}
	sp.old = slices.Clone(sp.files[segmentName(sp.segments[0])])
	return sp
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		needPower(t, err)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// memoryDir returns a new directory in memory if possible, as syncs would take
// most of the time of a test with thousands of logs.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stele-wal-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// putFiles writes the files to a new directory.
func putFiles(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := memoryDir(t)
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An outcome is the required result of opening a damaged log.
type outcome struct {
	file   string // of the CorruptError; "" if it opens
	offset int64  // -1: any
	next   Position
	// torn: Open must report a torn tail.
	torn bool
}

// expect derives the outcome of replacing segment number by content from the
// original records alone.
func (sp *specimen) expect(number uint64, content []byte) outcome {
	was := sp.files[segmentName(number)]
	if number == sp.prepared {
		return outcome{next: sp.next}
	}
	if len(content) != len(was) {
		return outcome{file: segmentName(number), offset: int64(len(content))}
	}
	if !bytes.Equal(content[:headerSum+4], was[:headerSum+4]) {
		return outcome{file: segmentName(number), offset: -1}
	}
	same := func(r record) bool { return bytes.Equal(content[r.off:r.next], was[r.off:r.next]) }
	intact := outcome{next: sp.next}
	for i, r := range sp.records[number] {
		if same(r) {
			continue
		}
		bad := outcome{file: segmentName(number), offset: r.off}
		if number != sp.segments[len(sp.segments)-1] || r.pos < sp.least {
			return bad
		}
		behind := 0
		for _, later := range sp.records[number][i+1:] {
			head := later.off + headerSize
			if !bytes.Equal(content[later.off:head], was[later.off:head]) {
				continue
			}
			behind++
			if later.durable() > r.off {
				return bad
			}
		}
		return outcome{next: r.pos, torn: behind > 0}
	}
	return intact
}

// second returns the payload of the records appended after the damage.
func second(pos Position) []byte { return append([]byte("second life "), payload(pos)...) }

// check opens the log in dir and compares the result with want. A log that
// opens must have the written records, take new ones, and return them.
func (sp *specimen) check(t *testing.T, dir string, want outcome) {
	t.Helper()
	before := readAll(t, dir)
	vrep, verr := Verify(dir)
	s, rep, err := openStore(dir, small())
	if want.file != "" {
		c, ok := errors.AsType[*CorruptError](err)
		if !ok || c.File != filepath.Join(dir, want.file) || want.offset >= 0 && c.Offset != want.offset {
			t.Errorf("Open: %+v, %v; want damage of %s at %d", rep, err, want.file, want.offset)
		}
		if vc, ok := errors.AsType[*CorruptError](verr); !ok || c != nil && *vc != *c {
			t.Errorf("Verify: %v; Open: %v", verr, err)
		}
		if s != nil {
			s.close(0, 0, false)
		}
		after := readAll(t, dir)
		delete(before, lockName)
		delete(after, lockName)
		if !maps.EqualFunc(before, after, bytes.Equal) {
			t.Error("a damaged log was changed")
		}
		return
	}
	if err != nil {
		t.Errorf("Open: %v; want it to open, and to end before %d", err, want.next)
		return
	}
	if verr != nil || vrep.Next != rep.Next || (vrep.Torn == nil) != (rep.Torn == nil) {
		t.Errorf("Verify: %+v, %v; Open: %+v", vrep, verr, rep)
	}
	if rep.First != sp.first || rep.Next != want.next || want.torn && rep.Torn == nil {
		t.Errorf("%+v, torn %+v; want it to begin at %d, end before %d, torn: %v", rep, rep.Torn, sp.first, want.next, want.torn)
	}
	p := &pen{t: t, s: s}
	p.g, p.off, p.next = s.tail()
	p.durable = p.off
	for range 3 {
		p.append(second(p.next))
	}
	p.kill()
	s, rep, err = openStore(dir, small())
	if err != nil || rep.Next != want.next+3 || rep.Torn != nil {
		t.Errorf("opened again: %+v, %v", rep, err)
		return
	}
	s.close(0, 0, false)
	got := records(t, dir)
	if err := hold(got[:len(got)-3], sp.first, want.next); err != nil {
		t.Error(err)
	}
	for _, r := range got[len(got)-3:] {
		if !bytes.Equal(r.Data, second(r.Position)) {
			t.Errorf("record %d, appended after the damage, holds %.40q", r.Position, r.Data)
		}
	}
}

func readAll(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, e := range must(os.ReadDir(dir))(t) {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a prepared segment has got its name
		}
		all[e.Name()] = must(b, err)(t)
	}
	return all
}

// A location is an offset of a segment to be damaged.
type location struct {
	name    string
	segment uint64
	at      int64
}

func (sp *specimen) locations() []location {
	sealed, active := sp.segments[1], sp.segments[2]
	var all []location
	for _, s := range []struct {
		name   string
		number uint64
	}{{"first segment", sp.segments[0]}, {"sealed", sealed}, {"active", active}} {
		rs := sp.records[s.number]
		mid, last := rs[len(rs)/2], rs[len(rs)-1]
		all = append(all,
			location{s.name + " header magic", s.number, 3},
			location{s.name + " header number", s.number, 32},
			location{s.name + " header salt", s.number, 50},
			location{s.name + " header rest", s.number, 2000},
			location{s.name + " first record's head", s.number, firstOffset + 1},
			location{s.name + " first record's payload", s.number, firstOffset + headerSize + 20},
			location{s.name + " middle record's length", s.number, mid.off + 8},
			location{s.name + " middle record's type", s.number, mid.off + 11},
			location{s.name + " middle record's checksum", s.number, mid.off + 5},
			location{s.name + " middle record's position", s.number, mid.off + 16},
			location{s.name + " middle record's payload", s.number, mid.next - 1},
			location{s.name + " last but three", s.number, rs[len(rs)-4].off},
			location{s.name + " last but two", s.number, rs[len(rs)-3].off + 6},
			location{s.name + " last but one", s.number, rs[len(rs)-2].next - 1},
			location{s.name + " last record", s.number, last.off + 2},
			location{s.name + " last record's end", s.number, last.next - 1},
			location{s.name + " behind the last", s.number, min(last.next+40, minSegmentSize-1)},
			location{s.name + " last byte", s.number, minSegmentSize - 1},
		)
	}
	return append(all,
		location{"prepared header", sp.prepared, 40},
		location{"prepared first record", sp.prepared, firstOffset},
		location{"prepared middle", sp.prepared, minSegmentSize / 2},
	)
}

func TestCorruptionMatrix(t *testing.T) {
	cells, outcomes := 0, map[string]int{}
	for _, recycled := range []bool{false, true} {
		for _, clean := range []bool{false, true} {
			sp := grow(t, recycled, clean)
			t.Run(sp.name, func(t *testing.T) {
				for _, s := range sp.locations() {
					for _, d := range damages {
						files := maps.Clone(sp.files)
						content := d.do(slices.Clone(files[segmentName(s.segment)]), int(s.at), sp.old)
						files[segmentName(s.segment)] = content
						want := sp.expect(s.segment, content)
						cells++
						// All of it takes long under the race detector.
						if os.Getenv("STELE_LONG") == "" && cells%3 != 0 {
							continue
						}
						switch {
						case want.file != "":
							outcomes["damage"]++
						case want.next != sp.next:
							outcomes["cut"]++
						default:
							outcomes["harmless"]++
						}
						t.Run(s.name+"/"+d.name, func(t *testing.T) { sp.check(t, putFiles(t, files), want) })
					}
				}
			})
		}
	}
	t.Logf("of %d cells (all with STELE_LONG=1): %v", cells, outcomes)
	// A specimen in which nothing can fail would prove nothing.
	for _, o := range []string{"damage", "cut", "harmless"} {
		if outcomes[o] < 40 {
			t.Errorf("only %d cells with outcome %q", outcomes[o], o)
		}
	}
}

// Damage to whole files.
func TestCorruptionOfFiles(t *testing.T) {
	other := grow(t, false, true)
	for _, recycled := range []bool{false, true} {
		for _, clean := range []bool{false, true} {
			sp := grow(t, recycled, clean)
			name := func(i int) string { return segmentName(sp.segments[i]) }
			prepared := segmentName(sp.prepared)
			harmless := outcome{next: sp.next}
			// Without the records of the active segment, only META shows where the
			// log ended.
			withoutActive := outcome{next: sp.records[sp.segments[2]][0].pos}
			if clean {
				withoutActive = outcome{file: name(2), offset: firstOffset}
			}
			for _, c := range []struct {
				what string
				do   func(f map[string][]byte)
				want outcome
			}{
				{"LOCK missing", func(f map[string][]byte) { delete(f, lockName) }, harmless},
				{"LOCK garbage", func(f map[string][]byte) { f[lockName] = []byte{0xff, 0, 7} }, harmless},
				{"META missing", func(f map[string][]byte) { delete(f, metaName) }, outcome{file: metaName}},
				{"META empty", func(f map[string][]byte) { f[metaName] = nil }, outcome{file: metaName}},
				{"META zeros", func(f map[string][]byte) { f[metaName] = make([]byte, metaSize) }, outcome{file: metaName}},
				{"META slot 0 damaged", func(f map[string][]byte) { f[metaName][33] ^= 1 }, harmless},
				{"META slot 1 damaged", func(f map[string][]byte) { f[metaName][metaApart+41] ^= 1 }, harmless},
				{"META slot 1 cut off", func(f map[string][]byte) { f[metaName] = f[metaName][:metaApart] }, harmless},
				{"META both slots damaged", func(f map[string][]byte) { f[metaName][8] ^= 1; f[metaName][metaApart+49] ^= 1 }, outcome{file: metaName}},
				{"META of another log", func(f map[string][]byte) { f[metaName] = slices.Clone(other.files[metaName]) },
					outcome{file: segmentName(1), offset: -1}},
				{"first missing", func(f map[string][]byte) { delete(f, name(0)) }, outcome{file: name(0)}},
				{"sealed missing", func(f map[string][]byte) { delete(f, name(1)) }, outcome{file: name(1)}},
				{"active missing", func(f map[string][]byte) { delete(f, name(2)) }, outcome{file: name(2)}},
				{"active and prepared missing", func(f map[string][]byte) { deleteFrom(f, sp.segments[2]) }, outcome{file: name(2)}},
				{"prepared missing", func(f map[string][]byte) { deleteFrom(f, sp.prepared) }, harmless},
				{"all missing", func(f map[string][]byte) { deleteFrom(f, 0) }, outcome{file: name(0)}},
				{"swapped", func(f map[string][]byte) { f[name(0)], f[name(1)] = f[name(1)], f[name(0)] }, outcome{file: name(0), offset: 32}},
				{"swapped with the active", func(f map[string][]byte) { f[name(1)], f[name(2)] = f[name(2)], f[name(1)] }, outcome{file: name(1), offset: 32}},
				{"swapped with the prepared", func(f map[string][]byte) { f[name(2)], f[prepared] = f[prepared], f[name(2)] }, outcome{file: name(2), offset: 32}},
				{"doubled", func(f map[string][]byte) { f[name(1)] = f[name(0)] }, outcome{file: name(1), offset: 32}},
				{"doubled in place of the prepared", func(f map[string][]byte) { f[prepared] = f[name(2)] }, outcome{file: prepared, offset: 32}},
				{"another log's", func(f map[string][]byte) { f[name(1)] = other.files[segmentName(2)] }, outcome{file: name(1), offset: 16}},
				{"empty", func(f map[string][]byte) { f[name(1)] = nil }, outcome{file: name(1)}},
				{"active empty", func(f map[string][]byte) { f[name(2)] = nil }, outcome{file: name(2)}},
				{"longer", func(f map[string][]byte) { f[name(1)] = append(slices.Clone(f[name(1)]), 0) }, outcome{file: name(1), offset: minSegmentSize}},
				{"zeros", func(f map[string][]byte) { f[name(1)] = make([]byte, minSegmentSize) }, outcome{file: name(1)}},
				{"garbage", func(f map[string][]byte) { fillGarbage(f[name(2)], 5) }, outcome{file: name(2)}},
				{"a leftover of a truncation", func(f map[string][]byte) { f["0000000000000099.new"] = []byte("half") }, harmless},
				{"the active has no records any more", func(f map[string][]byte) { clear(f[name(2)][firstOffset:]) }, withoutActive},
			} {
				t.Run(sp.name+"/"+c.what, func(t *testing.T) {
					files := map[string][]byte{}
					for n, b := range sp.files {
						files[n] = slices.Clone(b)
					}
					c.do(files)
					sp.check(t, putFiles(t, files), c.want)
				})
			}
		}
	}
}

// deleteFrom deletes the segments from number on.
func deleteFrom(f map[string][]byte, number uint64) {
	maps.DeleteFunc(f, func(name string, _ []byte) bool {
		n := segmentNumber(name)
		return n != 0 && n >= number
	})
}
