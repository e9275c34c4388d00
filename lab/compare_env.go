package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/env"
)

// environmentDifferences names what differs between two environments and
// moves results: the machine, the system, the Go side, the file system and
// the device. What differs from one boot or folder to the next (host name,
// load, paths, free space, device numbers) is left out.
func environmentDifferences(old, new *env.Environment) []string {
	var diffs []string
	differ := func(what, a, b string) {
		if a != b {
			diffs = append(diffs, fmt.Sprintf("%s: %s, now %s", what, known(a), known(b)))
		}
	}
	differ("operating system", old.OS, new.OS)
	differ("architecture", old.Arch, new.Arch)
	differ("kernel", old.Kernel, new.Kernel)
	differ("CPU", old.CPU, new.CPU)
	differ("CPUs", number(old.CPUs), number(new.CPUs))
	differ("governor", old.Governor, new.Governor)
	differ("virtual machine or container", old.Virtual, new.Virtual)
	differ("Go", old.Go, new.Go)
	differ("GOMAXPROCS", number(old.GOMAXPROCS), number(new.GOMAXPROCS))
	differ("Go settings", settings(old.GoSettings), settings(new.GoSettings))
	differ("file system", old.FS, new.FS)
	differ("mount options", mountOptions(old.Options), mountOptions(new.Options))
	differ("journal", old.Journal, new.Journal)
	differ("device model", old.Model, new.Model)
	differ("rotational", old.Rotational, new.Rotational)
	differ("I/O scheduler", old.Scheduler, new.Scheduler)
	differ("write cache", old.WriteCache, new.WriteCache)
	return diffs
}

func known(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func settings(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+"="+m[k])
	}
	if len(parts) == 0 {
		return "defaults"
	}
	return strings.Join(parts, " ")
}

// mountOptions puts the options in order, which means nothing.
func mountOptions(s string) string {
	opts := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(opts)
	return strings.Join(slices.Compact(opts), ",")
}
