package crashtest_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
)

// What each way to sync makes durable, on each file system. What the man pages
// promise must be kept; the ways that promise nothing must be seen to lose
// data, or the rig shows nothing. With -v the table is printed:
//
//	go test ./crashtest -run TestSyncTable -v -cuts 100    # as root
//
// Without -cuts (or STELE_LONG=1) each way has its turn on one file system
// only: the whole table takes 144 recordings.
func TestSyncTable(t *testing.T) {
	ways := crashtest.SyncWays()
	systems := []string{"ext4", "xfs", "btrfs"}
	var (
		mu   sync.Mutex
		rows []crashtest.SyncRow
	)
	t.Run("rows", func(t *testing.T) {
		for i, fs := range systems {
			for j, w := range ways {
				if *cutsFlag == 0 && !long() && j%len(systems) != i {
					continue
				}
				t.Run(fs+"/"+w.Name, func(t *testing.T) {
					t.Parallel()
					row := crashtest.SyncTable(t, crashtest.Options{FS: fs, Seed: *seedFlag}, w, cuts())
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
	at := func(r crashtest.SyncRow) int {
		way := slices.IndexFunc(ways, func(w crashtest.SyncWay) bool { return w.Name == r.Way })
		return slices.Index(systems, r.FS)*len(ways) + way
	}
	slices.SortFunc(rows, func(a, b crashtest.SyncRow) int { return at(a) - at(b) })
	t.Logf("Kept after all power cuts, or lost after some of them (capitals: and it was promised):\n\n%s", crashtest.SyncTableText(rows))
}

func checkSyncRow(t *testing.T, row crashtest.SyncRow, w crashtest.SyncWay) {
	lost, cuts := 0, 0
	for k := range crashtest.SyncKinds {
		c := row.Cells[k]
		if c.Promised && c.Lost > 0 {
			t.Errorf("%v is promised, and %d of %d cuts lost it (seed %d); the first: %v", k, c.Lost, c.Cuts, c.Seed, c.First)
		}
		if k <= crashtest.HoleFilled {
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

func TestSyncTableText(t *testing.T) {
	row := crashtest.SyncRow{FS: "ext4", Way: "O_SYNC"}
	row.Cells[crashtest.Overwritten] = crashtest.SyncCell{Promised: true, Cuts: 5}
	row.Cells[crashtest.Appended] = crashtest.SyncCell{Promised: true, Cuts: 5, Lost: 1}
	row.Cells[crashtest.NewName] = crashtest.SyncCell{Cuts: 5, Lost: 2}
	got := crashtest.SyncTableText([]crashtest.SyncRow{row})
	for _, want := range []string{"| overwrite |", "| mode, owner |", "| ext4 | O_SYNC | kept 5 | LOST 1/5 |", "| lost 2/5 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
