package claims

import (
	"fmt"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// onExt4OrXFS returns what the place of a claim about ext4 and XFS lacks, or "".
func onExt4OrXFS(e run.Environment) string {
	if e.FS == "ext4" || e.FS == "xfs" {
		return ""
	}
	return fmt.Sprintf("a directory on ext4 or XFS; this one is on %q", e.FS)
}

// onExt4Journal returns what the place of a claim about ext4's journal lacks, or "".
func onExt4Journal(e run.Environment) string {
	switch {
	case e.FS != "ext4":
		return fmt.Sprintf("a directory on ext4; this one is on %q", e.FS)
	case e.Journal == "none":
		return "an ext4 with a journal; this one has none"
	}
	return ""
}

// firstOn returns the first place of each file system, and names those of systems that
// have no place: "a directory on ext4 and a directory on xfs".
func firstOn(all []*evidence, systems ...string) (at map[string]*evidence, missing string) {
	at = map[string]*evidence{}
	for _, ev := range all {
		if fs := ev.place.Environment.FS; at[fs] == nil {
			at[fs] = ev
		}
	}
	var none []string
	for _, fs := range systems {
		if at[fs] == nil {
			none = append(none, "a directory on "+fs)
		}
	}
	return at, strings.Join(none, " and ")
}

// onDisk returns what the place of a claim about a disk lacks, or "".
func onDisk(e run.Environment) string {
	for _, fs := range []string{e.FS, e.BackingFS} {
		if fs == "tmpfs" || fs == "ramfs" {
			return fmt.Sprintf("a directory on a disk; this one is on %s, which is memory, where a sync does nothing", fs)
		}
	}
	return ""
}
