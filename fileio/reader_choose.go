package fileio

import "runtime"

const canAdvise = runtime.GOOS == "linux"

// autoMap is the size in bytes from which Auto maps a file: mapping, unmapping and the
// first page faults take as long as ten or more calls of pread(2), so there must be more
// to read than that.
const autoMap = 1 << 20

// wantsMemory reports whether choose needs to know how much memory is available.
func wantsMemory(size int64, p Pattern) bool {
	return p == Sequential && size > autoMap || p == Random && size >= autoMap
}

// choose returns the way by the rules in the package comment.
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
		return way // for an unknown name too: a profile is only advice, for large files
	}
	return w
}
