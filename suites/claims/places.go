package claims

import (
	"fmt"

	"github.com/stele-go/stele/lab/run"
)

// onExt4OrXFS is what claims on those two file systems need.
func onExt4OrXFS(e run.Environment) string {
	if e.FS == "ext4" || e.FS == "xfs" {
		return ""
	}
	return fmt.Sprintf("a folder on ext4 or XFS; this one is on %q", e.FS)
}

// onDisk is what claims about syncs need.
func onDisk(e run.Environment) string {
	for _, fs := range []string{e.FS, e.BackingFS} {
		if fs == "tmpfs" || fs == "ramfs" {
			return fmt.Sprintf("a folder on a disk; this one is on %s, which is memory, where a sync does nothing", fs)
		}
	}
	return ""
}
