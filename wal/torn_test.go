package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// A cutter knows which bytes of the used segments are durable, and makes the
// state that a power cut may leave: each sector written since the last sync has
// its old content or the new.
type cutter struct {
	*pen
	r       *rand.Rand
	durable map[string][]byte
	synced  Position // the next position at the last sync
}

func (c *cutter) files() map[string][]byte { return readAll(c.t, c.s.dir) }

// sync is the pen's; advance syncs too.
func (c *cutter) sync() {
	c.pen.sync()
	c.durable, c.synced = c.files(), c.next
}

// write writes one record. Changes of the directory, and a segment that is
// completed for it, are durable.
func (c *cutter) write(rec []byte) {
	before, next := c.g, c.next
	c.pen.write(rec)
	if c.g == before {
		return
	}
	c.durable, c.synced = c.files(), next
	clear(c.durable[filepath.Base(c.g.path)][firstOffset:])
	if c.g.recycledFrom != 0 {
		// It has its content from before it was recycled, with garbage in place
		// of the last record.
		fillGarbage(c.durable[filepath.Base(c.g.path)][firstOffset:], int(c.next))
	}
}

// cut returns a state that a power cut may leave.
func (c *cutter) cut() map[string][]byte {
	now := c.files()
	for name, was := range c.durable {
		is := now[name]
		if len(is) != len(was) || bytes.Equal(is, was) {
			continue
		}
		keep := c.r.Float64()
		for at := 0; at < len(is); at += 512 {
			if c.r.Float64() > keep {
				copy(is[at:at+512], was[at:])
			}
		}
	}
	return now
}

// After any simulated power cut the log opens, has all synced records, none
// that was not written, and takes new ones. It is never damaged.
func TestTornTails(t *testing.T) {
	seed := testseed.Of(t)
	rounds := 60
	if os.Getenv("STELE_LONG") != "" {
		rounds = 3000
	}
	torn, lost := 0, 0
	for i := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		files, synced, written := tornLog(t, r)
		dir := putFiles(t, files)
		s, rep, err := openStore(dir, small())
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if rep.Next < synced || rep.Next > written {
			t.Fatalf("round %d: %+v, synced before %d, written before %d", i, rep, synced, written)
		}
		if rep.Torn != nil {
			torn++
		}
		if rep.Next < written {
			lost++
		}
		p := &pen{t: t, s: s}
		p.g, p.off, p.next = s.tail()
		p.durable = p.off
		p.append(second(p.next), second(p.next+1))
		p.kill()
		got := records(t, dir)
		if err := hold(got[:len(got)-2], 1, rep.Next); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if !bytes.Equal(got[len(got)-1].Data, second(rep.Next+1)) {
			t.Fatalf("round %d: the last record is %d", i, got[len(got)-1].Position)
		}
		os.RemoveAll(dir)
	}
	if torn < rounds/10 || lost < rounds/10 {
		t.Errorf("of %d cuts %d tore something, %d lost something", rounds, torn, lost)
	}
}

// tornLog writes a log at random and simulates a power cut.
func tornLog(t *testing.T, r *rand.Rand) (files map[string][]byte, synced, written Position) {
	dir := memoryDir(t)
	defer os.RemoveAll(dir)
	p, _ := openPen(t, dir, small())
	c := &cutter{pen: p, r: r, synced: 1}
	c.sync()
	often := r.IntN(12) + 1
	for range r.IntN(120) + 1 {
		c.write(payload(c.next))
		if r.IntN(often) == 0 {
			c.sync()
		}
	}
	files = c.cut()
	c.kill()
	return files, c.synced, c.next
}

// The rule that tells a torn tail from damage, case by case. Records at level
// Kill that no later record proves durable may be missing in any order.
func TestTornOrDamaged(t *testing.T) {
	for _, c := range []struct {
		name    string
		flushes []int // records of each flush
		hurt    int   // index of the record whose payload is damaged
		damaged bool
	}{
		{"the only one", []int{1}, 0, false},
		{"first of the only flush", []int{3}, 0, false},
		{"last of a flush", []int{3, 3}, 5, false},
		{"first of the last flush", []int{3, 3}, 3, false},
		{"last before the last flush", []int{3, 3}, 2, true},
		{"first of all", []int{3, 3}, 0, true},
		{"first of all, long ago", []int{1, 1, 1, 1, 1}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := memoryDir(t)
			p, _ := openPen(t, dir, small())
			var offs []int64
			for _, n := range c.flushes {
				for range n {
					offs = append(offs, p.off)
					p.write([]byte(fmt.Sprintf("record %d", p.next)))
				}
				p.sync()
			}
			if err := p.g.write([]byte{'R'}, offs[c.hurt]+headerSize); err != nil {
				t.Fatal(err)
			}
			p.kill()
			s, rep, err := openStore(dir, small())
			if c.damaged {
				want := fmt.Sprintf("is damaged at offset %d: the checksum of the payload is wrong; it was durable", offs[c.hurt])
				if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
					t.Errorf("%v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := TornTail{File: p.g.path, Offset: offs[c.hurt], Bytes: p.off - offs[c.hurt], Records: len(offs) - 1 - c.hurt,
				Position: Position(c.hurt + 1), Salt: p.g.salt}
			if rep.Torn == nil || *rep.Torn != want || rep.Next != Position(c.hurt+1) {
				t.Errorf("%+v, torn %+v; want %+v", rep, rep.Torn, want)
			}
			s.close(0, 0, false)
			b := must(os.ReadFile(p.g.path))(t)
			if i := slices.IndexFunc(b[offs[c.hurt]:], func(b byte) bool { return b != 0 }); i >= 0 {
				t.Errorf("a byte is left at %d", offs[c.hurt]+int64(i))
			}
		})
	}
}

// The bytes after the last record are searched fast, whatever they are.
func BenchmarkSearchTear(b *testing.B) {
	for _, c := range []struct {
		name string
		fill func([]byte)
	}{{"zeros", func([]byte) {}}, {"garbage", func(b []byte) { fillGarbage(b, 1) }}} {
		b.Run("of="+c.name, func(b *testing.B) {
			f, err := os.CreateTemp(memoryDir(b), "")
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			g := &segment{path: f.Name(), number: 1, seed: seedOf(1), size: 16 << 20, file: f}
			content := make([]byte, g.size)
			c.fill(content)
			if err := g.write(content, 0); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(g.size - firstOffset)
			for b.Loop() {
				if _, err := searchTornTail(g, firstOffset, 1000, 2000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// SaveTorn gets the bytes of a torn tail before one of them is overwritten. Its
// error ends Open and nothing has changed; the next Open calls it again.
func TestSaveTorn(t *testing.T) {
	dir := memoryDir(t)
	p, _ := openPen(t, dir, small())
	p.append(payload(1))
	off := p.off
	p.write(payload(2), payload(3), payload(4))
	if err := p.g.write([]byte{'R'}, off+headerSize); err != nil { // 2 is torn
		t.Fatal(err)
	}
	p.kill()
	before := readAll(t, dir)
	content := before[segmentName(1)]
	want := TornTail{File: p.g.path, Offset: off, Bytes: p.off - off, Records: 2, Position: 2, Salt: p.g.salt}
	calls, fail := 0, errors.New("no place")
	o := small()
	o.SaveTorn = func(got TornTail, r io.Reader) error {
		calls++
		b := must(io.ReadAll(r))(t)
		if got != want || !bytes.Equal(b, content[off:p.off]) {
			t.Errorf("saved is %+v with %d bytes; want %+v", got, len(b), want)
		}
		if now := readAll(t, dir); !bytes.Equal(now[segmentName(1)], content) {
			t.Error("the torn tail was overwritten before it was saved")
		}
		return fail
	}
	for range 2 {
		if _, _, err := openStore(dir, o); !errors.Is(err, fail) {
			t.Errorf("%v; want the error of SaveTorn", err)
		}
		after := readAll(t, dir)
		if delete(after, lockName); !bytes.Equal(after[metaName], before[metaName]) || len(after) != len(before)-1 {
			t.Error("the log was changed though its torn tail could not be saved")
		}
	}
	fail = nil
	q, rep := openPen(t, dir, o)
	if q.kill(); calls != 3 || rep.Torn == nil || *rep.Torn != want || rep.Next != 2 {
		t.Errorf("%d calls; %+v, torn %+v", calls, rep, rep.Torn)
	}
	q, rep = openPen(t, dir, o)
	if q.close(); calls != 3 || rep.Torn != nil {
		t.Errorf("called %d times; nothing is torn any more: %+v", calls, rep)
	}
}
