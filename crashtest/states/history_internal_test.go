package states

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
)

// randomHistory is that of a few random calls.
func randomHistory(t *testing.T, rng *rand.Rand) *history {
	t.Helper()
	base := NewFS()
	if err := errors.Join(base.WriteFile("a", make([]byte, 700), 0o600), base.Mkdir("d", 0o700)); err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "d/a", "d/b"}
	h, err := RecordFS(base, func(fsys *FS, ack func(int)) error {
		for i := range 6 {
			name, other := names[rng.IntN(4)], names[rng.IntN(4)]
			f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			b := make([]byte, 1+rng.IntN(1200))
			for j := range b {
				b[j] = byte('a' + i)
			}
			// Some fail, as it comes; that is as good.
			switch rng.IntN(9) {
			case 0, 1:
				f.WriteAt(b, int64(rng.IntN(900)))
			case 2:
				f.Truncate(int64(rng.IntN(900)))
			case 3:
				f.Sync()
			case 4:
				f.Datasync()
			case 5:
				fsys.Rename(name, other)
			case 6:
				fsys.SyncDir([]string{".", "d"}[rng.IntN(2)])
			case 7:
				fsys.Remove(name)
			case 8:
				ack(i)
			}
			f.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &h.history
}

// keys are the states that are there when the history is cut at these cutPoints,
// each with what was acknowledged; all vectors, or the product of the groups.
func (h *history) keys(kind Model, cutPoints []cutPoint, grouped bool) map[string]bool {
	keys := map[string]bool{}
	h.frames(kind, cutPoints, func(f *frame) bool {
		add := func(v []int) bool {
			s, _ := f.snapshot(v)
			keys[fmt.Sprintf("%d %x", f.acked, s.key(map[uint64][sha256.Size]byte{}))] = true
			return true
		}
		if grouped {
			f.each(1<<30, add)
			return true
		}
		v := make([]int, len(f.change))
		var from func(i int)
		from = func(i int) {
			if i == len(v) {
				if f.valid(v) {
					add(v)
				}
				return
			}
			for v[i] = range outTorn + f.basic[i] {
				from(i + 1)
			}
			v[i] = outLost
		}
		from(0)
		return true
	})
	return keys
}

// Cutting at few cutPoints, and each group of changes by itself, leaves out no
// state that cutting everywhere in every way has.
func TestCutPointsAndGroups(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		h := randomHistory(t, rng)
		everywhere := []cutPoint{{}}
		for at := range len(h.ops) + 1 {
			for everywhere[len(everywhere)-1].acked < h.ackedAt(at) {
				everywhere = append(everywhere, cutPoint{at, everywhere[len(everywhere)-1].acked})
				everywhere[len(everywhere)-1].acked++
			}
			if at < len(h.ops) {
				everywhere = append(everywhere, cutPoint{at + 1, h.ackedAt(at)})
			}
		}
		for _, kind := range []Model{POSIX, Journaled} {
			few, all := h.keys(kind, h.cutPoints(), true), h.keys(kind, everywhere, false)
			if !reflect.DeepEqual(few, all) {
				t.Fatalf("seed %d, %v: %d states of %d; the history: %v", seed, kind, len(few), len(all), h.Ops())
			}
		}
	}
}

// What a journal may leave, the standard allows too.
func TestJournaledIsStricter(t *testing.T) {
	for seed := range uint64(60) {
		h := randomHistory(t, rand.New(rand.NewPCG(seed, 1)))
		cutPoints := h.cutPoints()
		posix := h.keys(POSIX, cutPoints, true)
		for key := range h.keys(Journaled, cutPoints, true) {
			if !posix[key] {
				t.Fatalf("seed %d: a state of the journal is none of POSIX; the history: %v", seed, h.Ops())
			}
		}
	}
}

// Without a crash there is what the file system shows.
func TestLastSnapshot(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		h := randomHistory(t, rng)
		s := h.last()
		tree := s.tree()
		if got, want := snapshotOf(tree).key(map[uint64][sha256.Size]byte{}), s.key(map[uint64][sha256.Size]byte{}); got != want {
			t.Fatalf("seed %d: the tree of a snapshot has another one", seed)
		}
	}
}

func TestOpsCodec(t *testing.T) {
	ops := []op{
		{Kind: opCreate, Node: 2, Dir: 1, Name: "a", Mode: typeFile | 0o644, Path: "a"},
		{Kind: opWrite, Node: 2, Off: 5, Len: 3, Size: 5, Path: "a", Data: []byte("abc")},
		{Kind: opXattr, Node: 2, Target: "user.x", Path: "a", Data: []byte{0}},
		{Kind: opRename, Node: 2, Dir: 1, Name: "a", Dir2: 1, Name2: "b\xff", Path: "a", Path2: "b"},
		{Kind: opSyncFS},
	}
	var b []byte
	var want []int64
	for i := range ops {
		var err error
		if b, err = appendOp(b, &ops[i]); err != nil {
			t.Fatal(err)
		}
		want = append(want, int64(len(b)))
	}
	got, ends, err := parseOps(b)
	if err != nil || !reflect.DeepEqual(got, ops) || !reflect.DeepEqual(ends, want) {
		t.Errorf("%v at %v, %v; want %v at %v", got, ends, err, ops, want)
	}
	for n := range len(b) {
		if _, ends, err := parseOps(b[:n]); err == nil && (n > 0) != (len(ends) > 0 && ends[len(ends)-1] == int64(n)) {
			t.Errorf("cut at %d it is whole", n)
		}
	}
}
