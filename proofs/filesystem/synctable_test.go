package filesystem_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// What each way to sync makes durable, on each file system. What the man pages
// promise must be kept; the ways that promise nothing must be seen to lose
// data, or the rig shows nothing. With -v the table is printed:
//
//	go test ./proofs/filesystem -run TestSyncTable -v -cuts 100    # as root
//
// Without -cuts (or STELE_LONG=1) each way has its turn on one file system
// only: the whole table takes 144 recordings.
func TestSyncTable(t *testing.T) {
	t.Parallel()
	ways := power.SyncWays()
	systems := []string{"ext4", "xfs", "btrfs"}
	var (
		mu   sync.Mutex
		rows []power.SyncRow
	)
	t.Run("rows", func(t *testing.T) {
		for i, fs := range systems {
			for j, w := range ways {
				if prove.Sampled() && j%len(systems) != i {
					continue
				}
				t.Run(fs+"/"+w.Name, func(t *testing.T) {
					t.Parallel()
					row := powertest.SyncTable(t, power.Options{FS: fs, Seed: prove.Seed(t)}, w, prove.Cuts())
					checkSyncRow(t, row, w)
					mu.Lock()
					defer mu.Unlock()
					rows = append(rows, row)
				})
			}
		}
	})
	if len(rows) == 0 {
		return // the rows say why they were skipped
	}
	at := func(r power.SyncRow) int {
		way := slices.IndexFunc(ways, func(w power.SyncWay) bool { return w.Name == r.Way })
		return slices.Index(systems, r.FS)*len(ways) + way
	}
	slices.SortFunc(rows, func(a, b power.SyncRow) int { return at(a) - at(b) })
	t.Logf("Kept after all power cuts, or lost after some of them (capitals: and it was promised):\n\n%s", power.SyncTableMarkdown(rows))
}

func checkSyncRow(t *testing.T, row power.SyncRow, w power.SyncWay) {
	lost, cuts := 0, 0
	for k := range power.SyncKinds {
		c := row.Cells[k]
		if c.Promised && c.Lost > 0 {
			t.Errorf("%v is promised, and %d of %d cuts lost it (seed %d); the first: %v", k, c.Lost, c.Cuts, c.Seed, c.First)
		}
		if k <= power.HoleFilled {
			lost, cuts = lost+c.Lost, cuts+c.Cuts
			if want := w.Level == durability.Power; c.Promised != want {
				t.Errorf("%v: promised %v, want %v at level %v", k, c.Promised, want, w.Level)
			}
		}
	}
	// At most one cut in five keeps all that was not flushed.
	if w.Level == durability.Kill && lost == 0 {
		t.Errorf("none of %d cuts lost data that nothing had flushed", cuts)
	}
}
