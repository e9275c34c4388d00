package job

import "github.com/stele-go/stele/durability"

// NothingWritten returns the promise of a way that writes nothing.
func NothingWritten() durability.Promise { return Promise(durability.None, durability.Torn) }

// Promise returns the promise of a level and a state after a crash.
func Promise(level durability.Level, after durability.After) durability.Promise {
	return durability.Promise{Level: level, After: after}
}
