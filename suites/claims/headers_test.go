package claims

import (
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Each variant of H does its job, with few operations.
func TestHeaderClaimsRun(t *testing.T) {
	const ops = 3
	wrote := map[string]struct {
		name string
		size int64
	}{
		"H2":           {"log", ops * 64},
		"H5-append":    {"data", ops * h5Batch},
		"H5-overwrite": {"data", h5File},
		"H7-commit":    {"log", ops * headerLen},
		"H7-each":      {"log", ops * headerLen},
	}
	runClaims(t, Headers(), ops, func(t *testing.T, e *lab.Experiment, dir string, _ run.Block) {
		if file, ok := wrote[e.Name]; ok {
			wantSize(t, filepath.Join(dir, file.name), file.size)
		}
	})
}
