package claims

import (
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites/job"
)

var kill = durability.Promise{Level: durability.Kill, After: durability.Prefix}

const (
	killText = "kill, prefix, all variants: survives kill -9, not a power cut"
	noneText = "none: nothing is written"
)

var (
	// kept is an empty file that is there or not, in the page cache.
	kept = durability.Promise{Level: durability.Kill, After: durability.OldOrNew}
	// keptTorn is a file with content, in the page cache.
	keptTorn = durability.Promise{Level: durability.Kill, After: durability.Torn}
)

// powerTorn is a file with content that was synced, and may be half written
// when it was not.
var powerTorn = job.Promise(durability.Power, durability.Torn)
