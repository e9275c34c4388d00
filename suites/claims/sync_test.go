package claims

import (
	"os"
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
		}
		few = append(few, c)
	}
	runClaims(t, few, 5, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
		switch e.Name {
		case "R6":
			if info, err := os.Stat(filepath.Join(dir, "data")); err != nil || info.Size() != r6File {
				t.Errorf("R6: %v, %v", info, err)
			}
		case "R7":
			if info, err := os.Stat(filepath.Join(dir, "data")); err != nil || info.Size() != 5*syncs.PageSize {
				t.Errorf("R7: %v, %v", info, err)
			}
		case "R11-fuse":
			want := 0.
			if strings.HasSuffix(b.Variant, ", dropped") {
				want = r11Blocks
			}
			if got := b.Metrics[r11LostBlocks]; got != want {
				t.Errorf("R11, %s: %v blocks are lost, want %v", b.Variant, got, want)
			}
		case "R12":
			if b.Missing[r12Volume] == "" || len(filesIn(t, dir)) != 0 {
				t.Errorf("R12: a p99 of 5 operations, or something is left: %v", filesIn(t, dir))
			}
		}
	})
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
