package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
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

// onlyOn returns f for blocks on the named file systems. On others, of which a claim about
// these shows nothing, a block does nothing.
func onlyOn(f func(b *lab.B) error, systems ...string) func(b *lab.B) error {
	return func(b *lab.B) error {
		info, err := sys.StatFS(b.Dir)
		if err != nil { // not on Linux
			return f(b)
		}
		name := sys.FSName(info.Magic) // "ext2/ext3/ext4"
		if !slices.ContainsFunc(systems, func(s string) bool { return strings.Contains(name, s) }) {
			return job.Unsupported("the claim is about %s; this directory is on %q", strings.Join(systems, " and "), name)
		}
		return f(b)
	}
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
