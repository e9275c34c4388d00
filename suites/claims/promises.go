package claims

import (
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites/job"
)

const (
	killText = "kill, prefix, all variants: survives kill -9, not a power cut"
	noneText = "none: nothing is written"
)

var (
	kill = job.Promise(durability.Kill, durability.Prefix)
	// kept is an empty file in the page cache: after a crash it exists or it does not.
	kept = job.Promise(durability.Kill, durability.OldOrNew)
	// keptTorn is a file with content in the page cache.
	keptTorn = job.Promise(durability.Kill, durability.Torn)
	// powerTorn is a file with content that is synced, and may be half written before that.
	powerTorn = job.Promise(durability.Power, durability.Torn)
	// lost is data in memory, or a file without a name: lost when the process exits.
	lost = job.Promise(durability.None, durability.Torn)
)
