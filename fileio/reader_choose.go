package fileio

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const canAdvise = runtime.GOOS == "linux"

// autoMap is the size from which Auto maps a file: to map, to unmap and the
// first page faults take as long as some ten calls of pread(2), so there must
// be more to read than that.
const autoMap = 1 << 20

// wantsMemory reports whether choose has to know how much memory is free.
func wantsMemory(size int64, p Pattern) bool {
	return p == Sequential && size > autoMap || p == Random && size >= autoMap
}

// choose picks a way by the rules in the package comment.
func choose(size int64, o Options, memory int64, known bool) Way {
	if !canAdvise {
		return Buffered
	}
	fits := known && size <= memory/2
	way := Buffered
	profiled := ""
	switch o.Pattern {
	case Random:
		if fits && size >= autoMap {
			way = Mapped
		}
		if o.Profile != nil {
			profiled = o.Profile.Read.Random
		}
	case Sequential:
		if known && !fits {
			way = Uncached
		}
		if o.Profile != nil {
			profiled = o.Profile.Read.Sequential
		}
	}
	w, err := ParseWay(profiled)
	if err != nil || w == Auto || size < autoMap || w == Mapped && !fits {
		return way // of an unknown name too: a profile only advises, and of long files
	}
	return w
}

// freeMemory is how much memory this process can still use for the page cache,
// in bytes: MemAvailable of the system, or what its control group and those
// above leave, if that is less. Pages of files that could be dropped count as
// free.
func freeMemory(root string) (free int64, known bool) {
	free, known = field(filepath.Join(root, "proc/meminfo"), "MemAvailable:")
	free *= 1 << 10
	group, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return free, known
	}
	for line := range strings.Lines(string(group)) {
		dir, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/") // version 2
		for ok {
			if left, limited := groupMemory(filepath.Join(root, "sys/fs/cgroup", dir)); limited && (left < free || !known) {
				free, known = left, true
			}
			if dir == "" {
				break
			}
			if dir = filepath.Dir(dir); dir == "." {
				dir = ""
			}
		}
	}
	return free, known
}

// groupMemory is what a control group may still use, if it is limited.
func groupMemory(dir string) (left int64, limited bool) {
	limit, ok := number(filepath.Join(dir, "memory.max")) // or the word "max"
	if !ok {
		return 0, false
	}
	used, ok := number(filepath.Join(dir, "memory.current"))
	if !ok {
		return 0, false
	}
	cached, _ := field(filepath.Join(dir, "memory.stat"), "inactive_file")
	return max(0, limit-used+cached), true
}

func number(name string) (int64, bool) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// field reads the number behind a word that begins a line.
func field(name, word string) (int64, bool) {
	f, err := os.Open(name)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if fields := strings.Fields(sc.Text()); len(fields) >= 2 && fields[0] == word {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
