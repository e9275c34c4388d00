package atomicfile

import "github.com/stele-go/stele/internal/tempfile"

// Ordered reports whether SyncAuto relies on the journal's order here.
func (d *Dir) Ordered() bool { return d.at.ordered }

// Warm asks once who this process is.
func Warm() { tempfile.Warm() }

// SweepAt is Sweep by another clock.
var SweepAt = sweepAt
