package peers

import (
	"os"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites"
)

// mkdirWays are the peers of package mkdir. filepath-securejoin confines what
// it makes to a root, as a confined Maker and os.Root do. The root stays open,
// which is the cheaper of its two ways.
func mkdirWays() []suites.MkdirWay {
	return []suites.MkdirWay{{
		Name:  "securejoin.MkdirAllHandle",
		Doc:   "filepath-securejoin, confined to an open root: looks up what exists, then mkdirat and openat level by level",
		Level: durability.Kill,
		Open: func(root string) (suites.Dirs, error) {
			r, err := os.OpenFile(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return suites.Dirs{}, err
			}
			return suites.Dirs{
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
