package claims

import (
	"fmt"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
)

// Headers are the claims on writing at the head of a file, H1 to H7.
func Headers() []Claim {
	return []Claim{claimH1(), claimH2(), claimH3(), claimH4(), claimH5(), claimH6(), claimH7()}
}

// headerLen is the header of the published workloads, in bytes.
const headerLen = 128

// powerTorn is a file with content that was synced, and may be half written
// when it was not.
var powerTorn = job.Promise(durability.Power, durability.Torn)

// onDisk is what claims about syncs need.
func onDisk(e run.Environment) string {
	for _, fs := range []string{e.FS, e.BackingFS} {
		if fs == "tmpfs" || fs == "ramfs" {
			return fmt.Sprintf("a folder on a disk; this one is on %s, which is memory, where a sync does nothing", fs)
		}
	}
	return ""
}

// perBlock says how many operations a block did where fewer were done than
// were published.
func perBlock(f *found, id string, published int64) string {
	if ops := opsOf(f.results[id]); ops > 0 && ops < published {
		return fmt.Sprintf(" Measured with %d operations a block, not %d.", ops, published)
	}
	return ""
}

// scaled is an estimate times k.
func scaled(e run.Estimate, k float64) run.Estimate {
	e.Median, e.Lo, e.Hi = e.Median*k, e.Lo*k, e.Hi*k
	return e
}

// opsOfVariant is the number of operations of a variant's timed block, 0
// where there is none: where operations leave nothing behind each variant has
// its own.
func opsOfVariant(r *run.Result, variant string) int64 {
	if r != nil {
		for i := range r.Blocks {
			if b := &r.Blocks[i]; b.Role == run.RoleTimed && b.Variant == variant {
				return b.Ops
			}
		}
	}
	return 0
}
