package wal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
)

// A pen writes to a store as a log does whose flushes are one batch each.
type pen struct {
	t       testing.TB
	s       *store
	g       *segment
	off     int64
	durable int64 // of g
	next    Position
}

func small() Options { return Options{SegmentSize: minSegmentSize, Spares: 1} }

func openPen(t testing.TB, dir string, o Options) (*pen, Report) {
	t.Helper()
	s, rep, err := openStore(dir, o)
	needPower(t, err)
	if err != nil {
		t.Fatal(err)
	}
	p := &pen{t: t, s: s}
	p.g, p.off, p.next = s.tail()
	p.durable = p.off
	return p, rep
}

// needPower skips a test on a system that cannot sync a directory, if err is
// the error of a log at level Power.
func needPower(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errors.ErrUnsupported) && !sys.CanSyncDir {
		t.Skip(err)
	}
}

// write writes recs at once, unsynced.
func (p *pen) write(recs ...[]byte) {
	p.t.Helper()
	for _, rec := range recs {
		if p.g.maxPayload(p.off) < int64(len(rec)) {
			g, err := p.s.advance(p.off, p.durable, p.next)
			if err != nil {
				p.t.Fatal(err)
			}
			p.g, p.off, p.durable = g, firstOffset, firstOffset
		}
		b := p.g.appendRecord(nil, p.off, typeData, p.next, uint32(p.off-p.durable), checksum(rec), rec)
		if err := p.g.write(b, p.off); err != nil {
			p.t.Fatal(err)
		}
		p.off += int64(len(b))
		p.next++
	}
}

func (p *pen) sync() {
	p.t.Helper()
	if err := p.g.sync(); err != nil {
		p.t.Fatal(err)
	}
	p.durable = p.off
}

// append writes recs, each with a sync.
func (p *pen) append(recs ...[]byte) {
	p.t.Helper()
	for _, r := range recs {
		p.write(r)
		p.sync()
	}
}

// fill appends records until n segments are in use and the last has some.
func (p *pen) fill(n int) {
	p.t.Helper()
	for {
		p.append(payload(p.next))
		if used, _ := p.s.counts(); used >= n && p.off > firstOffset+minSegmentSize/4 {
			return
		}
	}
}

func (p *pen) close() {
	p.t.Helper()
	if err := p.s.close(p.off, p.next, true); err != nil {
		p.t.Fatal(err)
	}
}

// kill leaves the directory as a killed process would.
func (p *pen) kill() {
	p.t.Helper()
	if err := p.s.close(p.off, p.next, false); err != nil {
		p.t.Fatal(err)
	}
}

// payload returns the payload of record pos in these tests, of 0 to 3 KiB.
func payload(pos Position) []byte {
	b := make([]byte, uint64(pos)*7919%3000)
	for i := range b {
		b[i] = byte(uint64(i) + uint64(pos)*31)
	}
	return b
}

// records returns all data records of the log, read by Inspect.
func records(t testing.TB, dir string) []Record {
	t.Helper()
	in, err := Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []Record
	for r, err := range in.Records(0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Type == "data" {
			all = append(all, Record{r.Position, slices.Clone(r.Data)})
		}
	}
	return all
}

// hold reports whether got are the records that these tests write, from first
// to before next.
func hold(got []Record, first, next Position) error {
	for i, r := range got {
		if want := first + Position(i); r.Position != want {
			return fmt.Errorf("record %d is at the place of %d", r.Position, want)
		}
		if string(r.Data) != string(payload(r.Position)) {
			return fmt.Errorf("record %d holds other bytes", r.Position)
		}
	}
	if n := Position(len(got)); first+n != next {
		return fmt.Errorf("%d records from %d on, want them to end before %d", n, first, next)
	}
	return nil
}

func checkRecords(t testing.TB, dir string, first, next Position) {
	t.Helper()
	if err := hold(records(t, dir), first, next); err != nil {
		t.Error(err)
	}
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, strings.TrimLeft(e.Name(), "0"))
	}
	return all
}
