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

// growPrepared makes a specimen with three prepared segments, which are
// recycled ones if it is.
func growPrepared(t testing.TB, recycled, clean bool) (sp *specimen, prepared []string) {
	t.Helper()
	sp = grow(t, recycled, clean)
	dir := putFiles(t, sp.files)
	for i := range uint64(3) {
		if recycled {
			check(t, os.WriteFile(filepath.Join(dir, segmentName(sp.segments[0]-1-i)), sp.old, 0o666))
		}
	}
	o := small()
	o.Spares = 3
	p, _ := openPen(t, dir, o)
	p.prepared(3)
	for _, g := range p.s.ready {
		prepared = append(prepared, segmentName(g.number))
	}
	// Those that grow has prepared may be others.
	if !p.s.cow && recycled != (p.s.ready[2].recycledFrom != 0) {
		t.Fatalf("segment %d was %d", p.s.ready[2].number, p.s.ready[2].recycledFrom)
	}
	if clean {
		p.close()
	} else {
		p.kill()
	}
	sp.files = readAll(t, dir)
	return sp, prepared
}

// prepared prepares n segments.
func (p *pen) prepared(n int) {
	p.s.prepare()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for p.s.preparing || len(p.s.ready) < n {
		p.s.cond.Wait()
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An accident happens to a prepared segment. at is the number of the file among
// those prepared.
type accident struct {
	name string
	do   func(f map[string][]byte, prepared []string, at int)
}

// accidents returns every class of them: each byte of the header, each kind of
// damage at each kind of place, files that are too short, too long, or missing,
// and files that belong elsewhere but hold no records.
func accidents(t testing.TB) (all []accident) {
	change := func(name string, do func(b []byte) []byte) {
		all = append(all, accident{name, func(f map[string][]byte, prepared []string, at int) {
			f[prepared[at]] = do(slices.Clone(f[prepared[at]]))
		}})
	}
	for at := range headerSum + 4 {
		change(fmt.Sprintf("header byte %d", at), func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b })
	}
	garbage := make([]byte, minSegmentSize)
	fillGarbage(garbage, 7)
	for _, at := range []int{3, 40, 50, headerSum + 2, 2000, firstOffset + 1, firstOffset + 17, minSegmentSize / 2, minSegmentSize - 1} {
		for _, d := range damages {
			change(fmt.Sprintf("%s at %d", d.name, at), func(b []byte) []byte { return d.do(b, at, garbage) })
		}
	}
	for _, n := range []int{0, 10, headerSum + 4, firstOffset - 1, firstOffset, firstOffset + 10, minSegmentSize - 1} {
		change(fmt.Sprintf("%d bytes long", n), func(b []byte) []byte { return b[:n] })
	}
	change("too long", func(b []byte) []byte { return append(b, 1) })
	change("zeros", func(b []byte) []byte { clear(b); return b })
	change("garbage", func(b []byte) []byte { return garbage })
	other := grow(t, false, true)
	change("of another log", func([]byte) []byte { return other.files[segmentName(other.prepared)] })
	return append(all,
		accident{"missing", func(f map[string][]byte, prepared []string, at int) { delete(f, prepared[at]) }},
		accident{"swapped", func(f map[string][]byte, prepared []string, at int) {
			a, b := prepared[at], prepared[(at+1)%3]
			f[a], f[b] = f[b], f[a]
		}},
	)
}

// Damage to a segment that was prepared and never used is no damage of the log,
// whatever it is.
func TestPreparedDamaged(t *testing.T) {
	cells, aside := 0, 0
	all := accidents(t)
	for _, recycled := range []bool{false, true} {
		for _, clean := range []bool{false, true} {
			sp, prepared := growPrepared(t, recycled, clean)
			t.Run(sp.name, func(t *testing.T) {
				for at := range prepared {
					for _, a := range all {
						// All of it takes long under the race detector.
						if cells++; os.Getenv("STELE_LONG") == "" && cells%13 != 0 {
							continue
						}
						files := maps.Clone(sp.files)
						a.do(files, prepared, at)
						want := sp.setAside(files, prepared)
						aside += len(want)
						dir := putFiles(t, files)
						if rep, err := Verify(dir); err != nil || rep.SetAside != len(want) {
							t.Errorf("%s of file %d: %+v, %v; want %d set aside", a.name, at, rep, err, len(want))
						}
						t.Run(fmt.Sprint(a.name, " of file ", at), func(t *testing.T) { sp.check(t, dir, outcome{next: sp.next}) })
					}
				}
			})
		}
	}
	if t.Logf("of %d cells (all with STELE_LONG=1): %d files set aside", cells, aside); aside < cells/20 {
		t.Errorf("%d files set aside", aside)
	}
}

// setAside returns the prepared segments that Open must set aside, as told by a
// comparison with what was prepared.
func (sp *specimen) setAside(files map[string][]byte, prepared []string) (want []string) {
	for _, name := range prepared {
		is, was := files[name], sp.files[name]
		recycled := bytes.ContainsFunc(was[firstOffset:], func(r rune) bool { return r != 0 })
		if is != nil && (len(is) != len(was) || !bytes.Equal(is[:headerSum+4], was[:headerSum+4]) ||
			!recycled && !bytes.Equal(is[firstOffset:], was[firstOffset:])) {
			want = append(want, name)
		}
	}
	return want
}

// A log whose prepared segments were damaged goes on, through segments that are
// prepared again, also if it is opened lazily.
func TestPreparedAgain(t *testing.T) {
	for _, o := range []Options{small(), lazy()} {
		sp, prepared := growPrepared(t, true, false)
		clear(sp.files[prepared[0]][:512])
		delete(sp.files, prepared[1])
		dir := putFiles(t, sp.files)
		p, rep := openPen(t, dir, o)
		if rep.SetAside != 1 || rep.Prepared != 0 || rep.Next != sp.next {
			t.Errorf("%+v", rep)
		}
		p.fill(7)
		p.kill()
		checkRecords(t, dir, sp.first, p.next)
		if rep, err := Verify(dir); err != nil || rep.Next != p.next || rep.SetAside != 0 {
			t.Errorf("%+v, %v", rep, err)
		}
	}
}

// SetAside gets each damaged file once, and no other. Its error ends Open, and
// the next one calls it again.
func TestSetAside(t *testing.T) {
	sp, prepared := growPrepared(t, false, false)
	sp.files[prepared[0]][50] ^= 1                                   // its header
	sp.files[prepared[2]] = sp.files[prepared[2]][:minSegmentSize/2] // the second one is intact, and goes
	dir := putFiles(t, sp.files)
	fail := errors.New("no place")
	o := small()
	o.SetAside = func(string) error { return fail }
	if _, _, err := openStore(dir, o); !errors.Is(err, fail) {
		t.Errorf("%v; want that of SetAside", err)
	}
	if now := readAll(t, dir); !bytes.Equal(now[prepared[0]], sp.files[prepared[0]]) {
		t.Error("a file is gone though it could not be set aside")
	}
	aside := t.TempDir()
	var got []string
	o.SetAside = func(path string) error {
		got = append(got, filepath.Base(path))
		// A copy: Open removes the file.
		return os.WriteFile(filepath.Join(aside, filepath.Base(path)), must(os.ReadFile(path))(t), 0o666)
	}
	p, rep := openPen(t, dir, o)
	if want := []string{prepared[0], prepared[2]}; !slices.Equal(got, want) || rep.SetAside != 2 || rep.Prepared != 0 {
		t.Errorf("set aside are %v; want %v; %+v", got, want, rep)
	}
	kept := readAll(t, aside)
	for _, name := range got {
		if !bytes.Equal(kept[name], sp.files[name]) {
			t.Errorf("%s was changed before it was set aside", name)
		}
	}
	if now := readAll(t, dir); now[prepared[0]] != nil || now[prepared[1]] != nil || now[prepared[2]] != nil {
		t.Error("a useless segment is left")
	}
	p.kill()
	got = nil
	p, rep = openPen(t, dir, o)
	if got != nil || rep.SetAside != 0 {
		t.Errorf("opened again: %v, %+v", got, rep)
	}
	p.close()
}

// If the end record before it is damaged too, a segment in use looks like a
// prepared one. Its records prove that it was used, without its header as well.
func TestUsedIsNotPrepared(t *testing.T) {
	dir := memoryDir(t)
	o := small()
	o.Spares = 2
	p, _ := openPen(t, dir, o)
	p.fill(2)
	p.prepared(2)
	first, active := segmentName(1), segmentName(2)
	end := p.next
	p.kill()
	intact := readAll(t, dir)
	rs := must(scanSegment(new(scanner), must(openSegment(filepath.Join(dir, first), 1, p.s.id))(t), false))(t)
	clear(intact[first][rs.off-endSize : rs.off])
	refused := func(what string, do func(b []byte) []byte) {
		t.Helper()
		for _, o := range []Options{small(), lazy()} {
			files := maps.Clone(intact)
			files[active] = do(slices.Clone(files[active]))
			dir := putFiles(t, files)
			_, rep, err := openStore(dir, o)
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Errorf("%s, lazy %v: %+v, %v; want damage", what, o.LazyVerify, rep, err)
			}
			delete(files, lockName)
			now := readAll(t, dir)
			if delete(now, lockName); !maps.EqualFunc(now, files, bytes.Equal) {
				t.Errorf("%s: the log was changed", what)
			}
		}
	}
	if _, err := Verify(putFiles(t, intact)); err == nil {
		t.Error("the end record is damaged, and not found")
	}
	for at := range headerSum + 4 {
		refused(fmt.Sprint("header byte ", at), func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b })
	}
	refused("header zeros", func(b []byte) []byte { clear(b[:firstOffset]); return b })
	refused("the first half zeros", func(b []byte) []byte { clear(b[:p.off/2]); return b })
	refused("header zeros, heads but one damaged", func(b []byte) []byte {
		clear(b[:firstOffset])
		for i := firstOffset; i < int(p.off)-5000; i += 512 {
			b[i+7] ^= 1
		}
		return b
	})
	for _, n := range []int64{p.off, p.off - 3, firstOffset + 1000} {
		refused(fmt.Sprint("cut to ", n), func(b []byte) []byte { return b[:n] })
	}
	// The limit: nothing is left of the segment. Then META counts.
	none := maps.Clone(intact)
	none[active] = make([]byte, minSegmentSize)
	s, rep, err := openStore(putFiles(t, none), small())
	if err != nil || rep.Next != rs.next || rep.SetAside != 1 {
		t.Fatalf("%+v, %v; want it to end before %d", rep, err, rs.next)
	}
	check(t, s.close(0, 0, false))
	p, _ = openPen(t, dir, small())
	if p.close(); p.next != end {
		t.Fatalf("next is %d, want %d", p.next, end)
	}
	none[metaName] = readAll(t, dir)[metaName]
	if _, rep, err := openStore(putFiles(t, none), small()); err == nil {
		t.Errorf("%+v; want damage, as META says that the log had reached %d", rep, end)
	}
	delete(none, active)
	if _, rep, err := openStore(putFiles(t, none), small()); err == nil {
		t.Errorf("missing: %+v; want damage, as META says that the log had reached %d", rep, end)
	}
}

// The end record of the last use of a file has the position of the next record
// of the log if all was truncated, which is no proof that it was used again.
func TestPreparedWithOldEnd(t *testing.T) {
	dir := memoryDir(t)
	p, _ := openPen(t, dir, small())
	for p.g.maxPayload(p.off) > 3000 {
		p.append(payload(p.next))
	}
	_, err := p.s.advance(p.off, p.durable, p.next)
	check(t, err)
	check(t, p.s.truncate(p.next))
	p.prepared(1)
	g := p.s.ready[0]
	if p.s.cow || g.recycledFrom != 1 {
		t.Skip("the file system never writes in place, so no file is recycled")
	}
	p.kill()
	b := must(os.ReadFile(g.path))(t)
	end := binary.LittleEndian.AppendUint64([]byte{8, 0, 0, typeEnd, 0, 0, 0, 0}, uint64(p.next))
	if !bytes.Contains(b[firstOffset:], end) {
		t.Fatal("the file has no end record of its last use")
	}
	clear(b[:firstOffset])
	check(t, os.WriteFile(g.path, b, 0o666))
	p, rep := openPen(t, dir, small())
	if rep.SetAside != 1 || rep.Next != p.next {
		t.Errorf("%+v", rep)
	}
	p.close()
}
