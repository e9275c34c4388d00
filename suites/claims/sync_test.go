package claims

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/syncs"
)

// The claims' experiments do their job, with few operations.
func TestSyncClaimsRun(t *testing.T) {
	var few []Claim
	for _, c := range Sync() {
		switch c.ID {
		case "R7":
			c.Experiments = c.Experiments[len(c.Experiments)-1:] // 200 a second
		case "R11":
			c.Experiments = c.Experiments[len(c.Experiments)-1:] // the cuts have a test of their own
		case "R12":
			c.Experiments[0].Params = run.Params{"requests": "20"}
		}
		few = append(few, c)
	}
	runClaims(t, few, 5, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
		switch e.Name {
		case "R6":
			wantSize(t, filepath.Join(dir, "data"), r6File)
		case "R7":
			wantSize(t, filepath.Join(dir, "data"), 5*syncs.PageSize)
		case "R11-fuse":
			want := 0.
			if strings.HasSuffix(b.Variant, ", dropped") {
				want = r11Blocks
			}
			if got := b.Metrics[r11LostBlocks]; got != want {
				t.Errorf("R11, %s: %v blocks are lost, want %v", b.Variant, got, want)
			}
		case "R12":
			for _, l := range r12Loads {
				if b.Missing[l.tail()] == (run.Reason{}) || b.Metrics[l.attained()] <= 0 {
					t.Errorf("R12: a p99 of 20 requests, or none were made: %v", l)
				}
			}
			wantEntries(t, dir, 0)
		}
	})
}
