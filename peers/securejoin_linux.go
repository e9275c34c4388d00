package peers

import (
	"os"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites/dirs"
	"github.com/stele-go/stele/suites/job"
)

// mkdirWays are the peers of package mkdir. filepath-securejoin confines what
// it makes to a root, as a confined Maker and os.Root do. The root stays open,
// which is the cheaper of its two ways.
func mkdirWays() []dirs.Way {
	return []dirs.Way{{
		Name:    "securejoin.MkdirAllHandle",
		Doc:     "filepath-securejoin, confined to an open root: looks up what exists, then mkdirat and openat level by level",
		Promise: job.Promise(durability.Kill, durability.Prefix),
		Open: func(at job.Site) (dirs.Dirs, error) {
			r, err := os.OpenFile(at.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return dirs.Dirs{}, err
			}
			return dirs.Dirs{
				Make: func(_, rel string) error {
					d, err := pathrs.MkdirAllHandle(r, rel, 0o755)
					if err != nil {
						return err
					}
					return d.Close()
				},
				Close: r.Close,
			}, nil
		},
	}}
}
