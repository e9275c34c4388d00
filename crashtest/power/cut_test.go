package power

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// randomLog writes at random, but flushes and acknowledges now and then.
func randomLog(seed uint64) *deviceLog {
	const size = 8 * pageSize
	rng := rand.New(rand.NewPCG(seed, 1))
	t := &deviceLog{fs: fileSystem{size: size, super: [2]int64{1024, 2048}}, seed: seed, base: newImage(size)}
	end := int64(0)
	t.begin = 10
	for i := range 120 {
		r := record{kind: kindFlush}
		if n := rng.IntN(10); n > 0 {
			r.kind = kindWrite
			r.off = rng.Int64N(size/sector) * sector
			r.len = min(size-r.off, sector*(1+rng.Int64N(8)))
			if n == 1 {
				r.kind = kindZero
			} else {
				r.data = bytes.Repeat([]byte{byte(i + 1)}, int(r.len))
			}
		}
		end += headerSize + int64(len(r.data))
		r.end = end
		t.records = append(t.records, r)
		if i >= t.begin && rng.IntN(4) == 0 {
			t.acks = append(t.acks, end)
		}
	}
	return t
}

// Whatever is lost, each sector is one that a disk may hold: what was there at
// the last flush, or one of the writes since then. And the superblock is
// never torn.
func TestImagesAreLegal(t *testing.T) {
	torn := 0
	for seed := range uint64(10) {
		tp := randomLog(seed)
		for _, c := range tp.cuts(60) {
			got := bytesOf(tp.image(&c))
			torn += c.Torn
			flushed := 0
			for i, r := range tp.records[:c.At] {
				if r.kind == kindFlush {
					flushed = i + 1
				}
			}
			durable := make([]byte, tp.fs.size)
			for _, r := range tp.records[:flushed] {
				apply(durable, r)
			}
			if n := c.Kept + c.Torn + c.Dropped; n != c.At-flushed {
				t.Errorf("seed %d, %v: %d unflushed writes, not %d", seed, c, c.At-flushed, n)
			}
			for at := int64(0); at < tp.fs.size; at += sector {
				legal := map[string]bool{string(durable[at : at+sector]): true}
				for _, r := range tp.records[flushed:c.At] {
					if r.off <= at && at < r.off+r.len {
						now := make([]byte, tp.fs.size)
						apply(now, r)
						legal[string(now[at:at+sector])] = true
					}
				}
				if !legal[string(got[at:at+sector])] {
					t.Fatalf("seed %d, %v: the sector at %d holds what no disk would", seed, c, at)
				}
			}
			super := map[string]bool{string(durable[1024:2048]): true}
			states := [][]byte{durable}
			for _, r := range tp.records[flushed:c.At] {
				for _, s := range states[:len(states):len(states)] {
					s = bytes.Clone(s)
					apply(s, r)
					if !super[string(s[1024:2048])] {
						super[string(s[1024:2048])] = true
						states = append(states, s)
					}
				}
			}
			if !super[string(got[1024:2048])] {
				t.Fatalf("seed %d, %v: the superblock is torn", seed, c)
			}
		}
	}
	if torn == 0 {
		t.Error("nothing was torn, so nothing was shown")
	}
}

func apply(b []byte, r record) {
	if r.kind == kindZero {
		clear(b[r.off : r.off+r.len])
	}
	copy(b[r.off:], r.data)
}

func TestCutsAreReproducible(t *testing.T) {
	a, b := randomLog(1), randomLog(1)
	as, bs := a.cuts(50), b.cuts(50)
	images := map[string]bool{}
	for i := range as {
		x := bytesOf(a.image(&as[i]))
		images[string(x)] = true
		// b's images are built in another order.
		j := len(as) - 1 - i
		b.image(&bs[j])
		if y := bytesOf(b.image(&bs[i])); !bytes.Equal(x, y) || as[i] != bs[i] {
			t.Errorf("the same seed on the same log gives %v and %v", as[i], bs[i])
		}
	}
	if len(images) < 25 {
		t.Errorf("50 cuts give only %d images", len(images))
	}
	b.seed = 2
	if fmt.Sprint(as) == fmt.Sprint(b.cuts(50)) {
		t.Error("another seed gives the same cuts")
	}
}

// With enough cuts there is one before and one after each flush and one at
// each acknowledgement, all within the work; and the ledger of each ends at
// the cut.
func TestWhereCutsAre(t *testing.T) {
	tp := randomLog(3)
	at := map[int]bool{}
	for _, c := range tp.cuts(900) {
		at[c.At] = true
		if c.At < tp.begin || c.At > len(tp.records) {
			t.Errorf("%v lies outside the work", c)
		}
		var length int64 // of the log when the next record is in it
		if c.At < len(tp.records) {
			length = tp.records[c.At].end
		} else {
			length = 1 << 60
		}
		for i, ack := range tp.acks {
			if acked := ack < length; acked != (i < c.Acked) {
				t.Errorf("%v: entry %d, acknowledged at byte %d of the log", c, i, ack)
			}
		}
	}
	for i := tp.begin; i < len(tp.records); i++ {
		if tp.records[i].kind == kindFlush && (!at[i] || !at[i+1]) {
			t.Errorf("no cut right before, or none after the flush at %d", i)
		}
	}
	for _, ack := range tp.acks {
		if i := tp.recordsBefore(ack); !at[i] {
			t.Errorf("no cut at the acknowledgement after record %d", i)
		}
	}
	// Work that wrote nothing can be cut in one place.
	tp.records = tp.records[:tp.begin]
	tp.acks = nil
	if got := len(tp.cuts(5)); got != 5 {
		t.Errorf("%d cuts of 5 asked for", got)
	}
}
