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
			// Some fail, which is fine.
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

// keys returns the states at these points of the history, each with the number of
// acknowledgements: from all vectors, or from the product of the groups.
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
				t.Fatalf("seed %d: a state of Journaled is not one of POSIX; the history: %v", seed, h.Ops())
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
		if got, want := snapshotOf(s.tree()).key(map[uint64][sha256.Size]byte{}), s.key(map[uint64][sha256.Size]byte{}); got != want {
			t.Fatalf("seed %d: the tree of a snapshot has another one", seed)
		}
	}
}
