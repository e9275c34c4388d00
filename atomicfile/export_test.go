package atomicfile

import "github.com/stele-go/stele/internal/tempfile"

// Ordered reports whether SyncAuto relies on the journal's order here.
func (d *Dir) Ordered() bool { return d.at.ordered }

// Warm reads the identity of this process, which is cached.
func Warm() { tempfile.Warm() }

// SweepAt is Sweep with another clock.
var SweepAt = sweepAt
