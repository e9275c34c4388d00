package claims

import (
	"os"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
)

// Directories are the claims on making directories, D1 to D9.
func Directories() []Claim {
	return []Claim{
		claimD1(), claimD2(), claimD3(), claimD4(), claimD5(),
		claimD6(), claimD7(), claimD8(), claimD9(),
	}
}

var kill = durability.Promise{Level: durability.Kill, After: durability.Prefix}

const (
	killText = "kill, prefix, all variants: survives kill -9, not a power cut"
	noneText = "none: nothing is written"
)

// asPublished is the setting of the report: no collector, one thread.
func asPublished() []string { return []string{"GOGC=off", "GOMAXPROCS=1"} }

// inDir runs f with the block's folder as working directory, because the
// published workloads use relative paths.
func inDir(f func(b *lab.B) error) func(b *lab.B) error {
	return func(b *lab.B) (err error) {
		was, err := os.Getwd()
		if err != nil {
			return err
		}
		if err := os.Chdir(b.Dir); err != nil {
			return err
		}
		defer func() {
			if back := os.Chdir(was); err == nil {
				err = back
			}
		}()
		return f(b)
	}
}

// ids returns the identities of the experiments in order.
func ids(list []lab.Experiment) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].ID()
	}
	return out
}
