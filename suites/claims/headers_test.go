package claims

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Each variant of H does its job, with few operations.
func TestHeaderClaimsRun(t *testing.T) {
	runClaims(t, Headers(), 3, func(t *testing.T, e *lab.Experiment, dir string, _ run.Block) {
		name, want := "", int64(0)
		switch e.Name {
		case "H1-fresh", "H1-fresh-fsync":
			name, want = "f2", headerLen
		case "H1-grow", "H1-grow-fsync":
			name, want = "f0", 3*headerLen
		case "H2":
			name, want = "log", 3*64
		case "H5-append":
			name, want = "data", 3*h5Batch
		case "H5-overwrite":
			name, want = "data", h5File
		case "H7-commit", "H7-each":
			name, want = "log", 3*headerLen
		default:
			return
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != want {
			t.Errorf("%s: %s should have %d bytes: %v, %v", e.ID(), name, want, info, err)
		}
	})
}
