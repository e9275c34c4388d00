package job

import (
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

// NothingWritten returns the promise of a way that writes nothing: durability is not
// applicable to it.
func NothingWritten() run.Promise { return run.WritesNothing() }

// Promise returns the promise of a level and a state after a crash.
func Promise(level durability.Level, after durability.After) run.Promise {
	return run.Writes(level, after)
}
