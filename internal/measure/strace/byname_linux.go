package strace

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/systrace"
)

// byName applies calls that do not have a number on every processor.
func (f *files) byName(pid int, c call, result int64) {
	switch name := systrace.Name(c.number); {
	case slices.Contains(renamers, name):
		f.changed, f.names = true, true
	case name == "creat", name == "open" && c.args[1]&(unix.O_CREAT|unix.O_TRUNC) != 0:
		f.wrote(pid, int(result), false)
	}
}
