package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStoreReopens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	p, rep := openPen(t, dir, small())
	if want := (Report{First: 1, Next: 1, Segments: 1}); rep != want {
		t.Errorf("a new log: %+v, want %+v", rep, want)
	}
	for round := range 4 {
		p.fill(2 * (round + 1))
		next := p.next
		clean := round%2 == 0
		if clean {
			p.close()
		} else {
			p.kill()
		}
		checkRecords(t, dir, 1, next)
		p, rep = openPen(t, dir, small())
		if rep.First != 1 || rep.Next != next || rep.Clean != clean || rep.Torn != nil || rep.MetaDegraded {
			t.Errorf("round %d: %+v, want the next to be %d", round, rep, next)
		}
		if _, off, _ := p.s.tail(); clean != (off == p.s.closedAt) {
			t.Errorf("round %d: the tail is at %d, the closed mark before %d", round, off, p.s.closedAt)
		}
	}
	// Nothing was appended: no second mark.
	off := p.off
	p.close()
	p, _ = openPen(t, dir, small())
	end := p.off
	p.close()
	p, _ = openPen(t, dir, small())
	p.close()
	if p.off != end || end != off+headerSize {
		t.Errorf("three times closed, the log ends at %d, %d, %d", off, end, p.off)
	}
}

// A log may be closed when its segment is full to the last byte.
func TestStoreClosedWhenFull(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	p.append(make([]byte, p.g.maxPayload(p.off)))
	p.close()
	for range 2 {
		p, _ = openPen(t, dir, small())
		if p.g.maxPayload(p.off) >= 0 {
			t.Fatalf("there is space for %d bytes", p.g.maxPayload(p.off))
		}
		p.close()
	}
	p, _ = openPen(t, dir, small())
	p.append([]byte("more"))
	if p.g.number != 2 {
		t.Errorf("the record is in segment %d", p.g.number)
	}
	p.close()
	if n := len(records(t, dir)); n != 2 {
		t.Errorf("%d records", n)
	}
}

func TestStoreTruncates(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	p.fill(5)
	used := slices.Clone(p.s.used)
	old, err := p.s.find(1)
	if err != nil {
		t.Fatal(err)
	}
	third, err := p.s.find(used[2].first)
	if err != nil || third != used[2] {
		t.Fatalf("record %d is in %v, %v", used[2].first, third, err)
	}
	if last, err := p.s.find(used[2].first - 1); err != nil || last != used[1] {
		t.Fatalf("record %d is in %v, %v", used[2].first-1, last, err)
	} else {
		p.s.release(last)
	}

	pos := used[2].first + 1
	if err := p.s.truncate(pos); err != nil {
		t.Fatal(err)
	}
	if p.s.first() != pos {
		t.Errorf("the first is %d, want %d", p.s.first(), pos)
	}
	if _, err := p.s.find(pos - 1); !errors.Is(err, ErrTruncated) {
		t.Errorf("a record that was given up: %v", err)
	}
	// A Reader goes on in a segment that it holds, and no further.
	var c scanner
	c.reset(old, firstOffset, 1)
	if r, err := c.next(old.size); err != nil || r.pos != 1 {
		t.Errorf("held: record %d, %v", r.pos, err)
	}
	if _, err := p.s.after(old); !errors.Is(err, ErrTruncated) {
		t.Errorf("behind it: %v", err)
	}
	if _, err := os.Stat(old.path); err != nil {
		t.Errorf("a segment that is held: %v", err)
	}
	p.s.release(old)
	if next, err := p.s.after(third); err != nil || next != used[3] {
		t.Errorf("behind the third: %v, %v", next, err)
	} else {
		p.s.release(next)
	}
	p.s.release(third)
	if g, err := p.s.after(used[4]); g != nil || err != nil {
		t.Errorf("behind the last: %v, %v", g, err)
	}

	// The files are recycled, unless the file system never writes in place, and
	// their old records are not read.
	next := p.next
	p.fill(7)
	if again := slices.ContainsFunc(p.s.used, func(g *segment) bool { return g.recycledFrom != 0 }); again == p.s.cow {
		t.Errorf("files used again: %v; never in place: %v", again, p.s.cow)
	}
	end := p.next
	p.kill()
	checkRecords(t, dir, pos, end)
	p, rep := openPen(t, dir, small())
	if rep.First != pos || rep.Next != end || rep.Torn != nil {
		t.Errorf("after %d to %d: %+v", next, end, rep)
	}
	if err := p.s.truncate(end); err != nil {
		t.Fatal(err)
	}
	p.close()
	p, rep = openPen(t, dir, small())
	if rep.First != end || rep.Next != end || rep.Segments != 1 {
		t.Errorf("all truncated: %+v", rep)
	}
	p.append(payload(end))
	p.close()
	checkRecords(t, dir, end, end+1)
}

func TestStoreLocked(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	_, _, err := openStore(dir, small())
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("this process (%d)", os.Getpid())) || !strings.Contains(err.Error(), dir) {
		t.Errorf("open twice: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockName), []byte("1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err = openStore(dir, small()); err == nil || !strings.HasSuffix(err.Error(), "by process 1") {
		t.Errorf("open twice: %v", err)
	}
	p.close()
	p, _ = openPen(t, dir, small())
	p.close()
}

// Wherever the creation of a log was interrupted, the next Open completes it.
func TestStoreMakingInterrupted(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	m := p.s.meta
	p.kill()
	m.sequence = 1 // as before the first segment exists
	for _, c := range []struct {
		what string
		do   func()
	}{
		{"no segment", func() { os.Remove(filepath.Join(dir, segmentName(1))) }},
		{"half a segment", func() {
			os.Remove(filepath.Join(dir, segmentName(1)))
			os.WriteFile(filepath.Join(dir, "0000000000000001.new"), make([]byte, 5000), 0o666)
		}},
		{"a segment", func() {}},
		{"half of META", func() {
			os.Remove(filepath.Join(dir, segmentName(1)))
			os.Remove(filepath.Join(dir, metaName))
			os.WriteFile(filepath.Join(dir, "META.new"), make([]byte, 100), 0o666)
		}},
		{"nothing but the lock", func() {
			os.Remove(filepath.Join(dir, segmentName(1)))
			os.Remove(filepath.Join(dir, metaName))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, metaName), metaFile(m), 0o666); err != nil {
				t.Fatal(err)
			}
			c.do()
			p, rep := openPen(t, dir, small())
			if rep.Next != 1 || p.s.meta.sequence < 2 {
				t.Errorf("%+v, sequence %d", rep, p.s.meta.sequence)
			}
			p.append(payload(1))
			p.kill()
			checkRecords(t, dir, 1, 2)
			if got := names(t, dir); !slices.Equal(got, []string{"1.wal", "LOCK", "META"}) {
				t.Errorf("the directory holds %v", got)
			}
			// Remove the record for the next case.
			if err := os.Remove(filepath.Join(dir, segmentName(1))); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(dir, metaName))
			p, _ = openPen(t, dir, small())
			m = p.s.meta
			m.sequence = 1
			p.kill()
		})
	}
}

func TestStoreForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"1.wal", "notes.new", "0000000000000001.wal.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := openPen(t, dir, small())
	p.append(payload(1))
	p.close()
	got := names(t, dir)
	slices.Sort(got)
	if want := []string{"1.wal", "1.wal", "1.wal.gz", "LOCK", "META", "notes.new"}; !slices.Equal(got, want) {
		t.Errorf("the directory holds %v, want %v", got, want)
	}
}

func TestStoreVersions(t *testing.T) {
	newer := func(t *testing.T, path string, off, sum int64) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[off+8] = 2
		putSum(b[off:], sum)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file     string
		off, sum int64
	}{{metaName, 0, metaSum}, {metaName, metaApart, metaSum}, {segmentName(1), 0, headerSum}} {
		dir := t.TempDir()
		p, _ := openPen(t, dir, small())
		p.close()
		newer(t, filepath.Join(dir, c.file), c.off, c.sum)
		_, _, err := openStore(dir, small())
		v, ok := errors.AsType[*VersionError](err)
		if !ok || v.Version != 2 || v.File != filepath.Join(dir, c.file) {
			t.Errorf("%s at %d: %v", c.file, c.off, err)
		}
	}
}

// Prepared segments are created, counted, and used in order.
func TestStorePrepares(t *testing.T) {
	dir := t.TempDir()
	o := small()
	o.Spares = 3
	p, _ := openPen(t, dir, o)
	p.s.prepare()
	p.fill(3)
	p.close() // waits for the preparation
	f, err := readListing(dir)
	if err != nil || len(f.numbers) < 3 || len(f.temps) > 0 {
		t.Fatalf("%v, %v", f, err)
	}
	p, rep := openPen(t, dir, o)
	if rep.Segments != 3 || rep.Prepared != len(f.numbers)-3 {
		t.Errorf("%d files: %+v", len(f.numbers), rep)
	}
	p.fill(6)
	p.close()
	checkRecords(t, dir, 1, p.next)
}

// A segment that cannot be created changes nothing: here a directory has its
// name.
func TestStoreCannotPrepare(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	p.append(payload(1))
	block := filepath.Join(dir, segmentName(2))
	if err := os.MkdirAll(filepath.Join(block, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	p.s.prepare()
	for range 2 {
		if _, err := p.s.advance(p.off, p.durable, p.next); err == nil || errors.Is(err, errSyncFailed) || !strings.Contains(err.Error(), dir) {
			t.Errorf("advance: %v", err)
		}
	}
	p.append(payload(2)) // it fits into the segment
	if err := os.RemoveAll(block); err != nil {
		t.Fatal(err)
	}
	p.fill(2)
	p.close()
	checkRecords(t, dir, 1, p.next)
}

// Open does not change a byte of the records of an intact log.
func TestStoreSettles(t *testing.T) {
	dir := t.TempDir()
	p, _ := openPen(t, dir, small())
	p.write(payload(1), payload(2), payload(3)) // not synced: Open writes them again
	p.kill()
	path := filepath.Join(dir, segmentName(1))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, rep := openPen(t, dir, small())
	p.kill()
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) || rep.Next != 4 {
		t.Errorf("%+v, the same: %v, %v", rep, string(before) == string(after), err)
	}
}
