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
		"H5-append":    {"data", ops * h5Batch},
		"H5-overwrite": {"data", h5File},
	}
	var list []Claim
	for _, c := range Headers() {
		if c.ID == "H5" {
			c.Experiments = c.Experiments[:2] // the cuts have a test of their own, with R11
		}
		list = append(list, c)
	}
	runClaims(t, list, ops, func(t *testing.T, e *lab.Experiment, dir string, b run.Block) {
		switch {
		case b.Variant == h2Append:
			wantSize(t, filepath.Join(dir, "log"), ops*64)
		case b.Variant == h2Ahead:
			wantSize(t, filepath.Join(dir, "log"), h2AheadBytes)
		case e.Name == "H7" && b.Variant != h7Coded:
			wantSize(t, filepath.Join(dir, "log"), ops*headerLen)
		}
		if file, ok := wrote[e.Name]; ok {
			wantSize(t, filepath.Join(dir, file.name), file.size)
		}
	})
}
