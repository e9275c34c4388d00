package lab

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/stele-go/stele/lab/run"
)

// Child returns a command that runs a variant in a process of its own, for a variant
// whose job takes several processes. The child does ops operations in dir, writes its
// Block to standard output as JSON and ends with this process. The caller passes it
// further settings in its environment. The program must call RunBlock, with e among
// its experiments, as for Measure.
func Child(ctx context.Context, e *Experiment, variant, dir string, ops int64, seed uint64) (*exec.Cmd, error) {
	cmd, err := blockCommand(ctx, "", blockSpec{
		Experiment: e.ID(), Variant: variant, Dir: dir, Role: run.RoleTimed, Ops: ops, Batch: 1, Seed: seed, Window: 1e9,
	})
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	return cmd, nil
}
