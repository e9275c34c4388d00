package header

import (
	"bytes"
	"reflect"
	"testing"
)

var intents = []*intent{
	{kind: slotRedo, inode: 7, off: 510, data: []byte("abcdef"), old: []uint32{1, 2}, record: []byte("r")},
	{kind: slotRedo, inode: 1, old: []uint32{}},
	{kind: insertShift, inode: 1 << 63, shift: shiftPlan{
		block: 4096, base: 10 * 4096, first: 9, beyondEOF: true, head: []uint32{5, 6}, data: []span{{0, 2}, {4, 5}},
	}},
	{kind: collapseShift, shift: shiftPlan{block: 512, base: 1, head: []uint32{5}, data: []span{{0, 1}}}, record: bytes.Repeat([]byte{1}, 300)},
}

func TestIntent(t *testing.T) {
	for _, in := range intents {
		b := in.encode()
		got, err := decodeIntent(b)
		if err != nil || !reflect.DeepEqual(got, in) {
			t.Errorf("%+v is read as %+v, %v", in, got, err)
		}
		for i := range b { // the CRC covers every byte
			bad := bytes.Clone(b)
			bad[i] ^= 1
			if _, err := decodeIntent(bad); err == nil {
				t.Errorf("%+v with byte %d changed is read", in, i)
			}
			if _, err := decodeIntent(b[:i]); err == nil {
				t.Errorf("the first %d bytes of %+v are read", i, in)
			}
		}
	}
	for _, p := range []shiftPlan{
		{block: 100, base: 1, head: []uint32{5}, data: []span{{0, 1}}},
		{block: 512, base: 0, head: []uint32{5}, data: []span{{0, 1}}},
		{block: 512, base: 1, data: []span{{0, 1}}},
		{block: 512, base: 1, head: []uint32{5}},
		{block: 512, base: 512, head: []uint32{5}, data: []span{{0, 2}}},
		{block: 512, base: 2048, head: []uint32{5}, data: []span{{0, 1}, {1, 1}}},
		{block: 512, base: 2048, head: []uint32{5}, data: []span{{1, 0}}},
		{block: 512, base: maxSize - 1, head: []uint32{5}, data: []span{{0, 1}}},
	} {
		if in, err := decodeIntent((&intent{kind: insertShift, shift: p}).encode()); err == nil {
			t.Errorf("%+v is read, as %+v", p, in.shift)
		}
	}
}

// Each intent has one encoding.
func FuzzIntent(f *testing.F) {
	for _, in := range intents {
		b := in.encode()
		f.Add(b[:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := appendSums(body, []uint32{sum(body)}) // the fuzzer would not find it
		in, err := decodeIntent(b)
		if err != nil {
			return
		}
		again, err := decodeIntent(in.encode())
		if err != nil || !reflect.DeepEqual(again, in) {
			t.Fatalf("%+v is read as %+v, %v", in, again, err)
		}
		if in.kind != slotRedo {
			p := &in.shift
			m := fileMap{size: p.base, blocks: p.data, written: p.data}
			state, _, err := p.classify(m, func() (headState, error) { return headState{other: p.gap()}, nil },
				func(block int64) (bool, error) { return block == 0, nil },
				func() (bool, error) { return true, nil })
			if err != nil || state != stateBase {
				t.Fatalf("the base of %+v is in state %d, %v", p, state, err)
			}
		}
	})
}
