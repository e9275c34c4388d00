package logstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func testKey(n uint64) (id keyID) {
	binary.LittleEndian.PutUint64(id.key[:], n+1)
	id.tenant = uint32(n % 3)
	return id
}

// A table is compared with a map that forgets the same keys.
func TestKeyTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		table := newKeyTable(time.Minute, int64(2+rng.IntN(4))*keyChunkBytes+8*int64(minKeyIndex)*int64(1+rng.IntN(16)))
		type known struct {
			keptBatch
			at time.Duration
		}
		want := map[keyID]known{}
		var now time.Duration
		// So that numbers go beyond the bits of a slot.
		table.oldest = uint64(keyNumbers-rng.IntN(3000)) / keyChunk * keyChunk
		table.next = table.oldest
		most, early := 0, uint64(0)
		for i := range 20_000 {
			now += time.Duration(rng.IntN(int(2 * time.Minute / 4000)))
			id := testKey(rng.Uint64N(6000))
			got, ok := table.find(id, now)
			w, is := want[id]
			switch {
			case ok && (!is || got != w.keptBatch):
				t.Fatalf("%v is known as %+v, put was %+v", id, got, w)
			case ok && now-w.at > time.Minute+time.Minute/keyMarks*2:
				t.Fatalf("%v is known after %v", id, now-w.at)
			case !ok && is && now-w.at < time.Minute && table.early == early:
				t.Fatalf("%v is forgotten after %v", id, now-w.at)
			case !ok:
				delete(want, id)
			}
			if rng.IntN(2) == 0 {
				b := keptBatch{uint64(i) + 1, rng.IntN(1 << 30), rng.IntN(2) == 0}
				at := now
				if ok {
					at = w.at // it keeps its age
				}
				want[id] = known{b, at}
				before := table.early
				if was, knew := table.put(id, b, now); knew != ok || was != got {
					t.Fatalf("%v was known as %+v, %t; put says %+v, %t", id, got, ok, was, knew)
				}
				if older, _ := table.put(id, keptBatch{position: 0, handled: 5}, now); older != (keptBatch{}) {
					t.Fatalf("%v takes a state of an earlier record", id)
				}
				if table.early > before {
					early = table.early - 1 // what is forgotten from now on may be early
				}
			}
			most = max(most, table.len())
			if used := int64(len(table.chunks))*keyChunkBytes + int64(len(table.index))*keySlotBytes; used > table.most {
				t.Fatalf("%d entries take %d bytes of %d", table.len(), used, table.most)
			}
		}
		if most < keyChunk/8 {
			t.Errorf("at most %d keys were known at once", most)
		}
		// A window later nothing is left.
		if _, ok := table.find(testKey(0), now+2*time.Minute); ok || table.len() != 0 || len(table.marks) != 0 {
			t.Errorf("%d keys are known for ever", table.len())
		}
		for _, s := range table.index {
			if s != 0 {
				t.Fatal("the index has a slot of no entry")
			}
		}
	}
}

// Under a flood of keys the newest stay, and those dropped early are counted.
func TestKeyTableIsBounded(t *testing.T) {
	const most = 1 << 20
	table := newKeyTable(10*time.Minute, most)
	const flood = 200_000
	for i := range uint64(flood) {
		table.put(testKey(i), keptBatch{position: i}, time.Duration(i))
	}
	n := table.len()
	if used := int64(len(table.chunks))*keyChunkBytes + int64(len(table.index))*keySlotBytes; used > most || int64(n) < most/64 {
		t.Errorf("%d keys in %d bytes of %d", n, used, most)
	}
	if table.early != uint64(flood-n) {
		t.Errorf("%d keys were dropped early and %d are known, of %d", table.early, n, flood)
	}
	for i := range uint64(flood) {
		if b, ok := table.find(testKey(i), flood); ok != (i >= flood-uint64(n)) || ok && b.position != i {
			t.Fatalf("key %d of %d: %v, %v", i, flood, b, ok)
		}
	}
}

func BenchmarkKeyTable(b *testing.B) {
	table := newKeyTable(10*time.Minute, 8<<20)
	i := uint64(0)
	for b.Loop() {
		id := testKey(i)
		table.find(id, time.Duration(i))
		table.put(id, keptBatch{position: i}, time.Duration(i))
		i++
	}
}

// BenchmarkTurn measures what a key or a source costs an append.
func BenchmarkTurn(b *testing.B) {
	for _, names := range []AppendOptions{{Key: key(1)}, {Source: "/var/log/syslog"}} {
		b.Run(fmt.Sprint("source=", names.Source), func(b *testing.B) {
			d := newIdempotency(keyWindow, 8<<20)
			n := uint64(0)
			for b.Loop() {
				n++
				o := names
				if o.Source != "" {
					o.Offset = n
				} else {
					binary.LittleEndian.PutUint64(o.Key[:], n)
				}
				turn, err := d.begin(context.Background(), nil, &o, 1, 0, time.Duration(n))
				if err != nil || turn.known != 0 {
					b.Fatal(turn.known, err)
				}
				d.note(&recordHead{key: o.Key, source: o.Source, offset: o.Offset, handled: 1}, n, 0, time.Duration(n))
				turn.end()
			}
		})
	}
}
