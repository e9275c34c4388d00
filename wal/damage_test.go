package wal

import "math/rand/v2"

// A damage changes the content of a file at an offset. old is the content that
// the file, or one like it, had before it was recycled. Damages do not depend
// on the layout of a log, so other formats can be tested with them.
type damage struct {
	name string
	do   func(content []byte, at int, old []byte) []byte
}

var damages = []damage{
	{"bit flip", func(b []byte, at int, _ []byte) []byte {
		b[at] ^= 1 << (at % 8)
		return b
	}},
	{"byte zero", func(b []byte, at int, _ []byte) []byte {
		b[at] = 0
		return b
	}},
	{"sector zero", func(b []byte, at int, _ []byte) []byte {
		clear(around(b, at, 512))
		return b
	}},
	{"block zero", func(b []byte, at int, _ []byte) []byte {
		clear(around(b, at, 4096))
		return b
	}},
	{"zeros to the end", func(b []byte, at int, _ []byte) []byte {
		clear(b[at:])
		return b
	}},
	{"old sector", func(b []byte, at int, old []byte) []byte {
		copy(around(b, at, 512), around(old, at, 512))
		return b
	}},
	{"old block", func(b []byte, at int, old []byte) []byte {
		copy(around(b, at, 4096), around(old, at, 4096))
		return b
	}},
	{"old to the end", func(b []byte, at int, old []byte) []byte {
		copy(b[at:], old[at:])
		return b
	}},
	{"garbage sector", func(b []byte, at int, _ []byte) []byte {
		fillGarbage(around(b, at, 512), at)
		return b
	}},
	{"garbage to the end", func(b []byte, at int, _ []byte) []byte {
		fillGarbage(b[at:], at)
		return b
	}},
	{"doubled", func(b []byte, at int, _ []byte) []byte { // the next bytes are there twice
		n := min(700, (len(b)-at)/2)
		copy(b[at+n:], b[at:at+n])
		return b
	}},
	{"moved down", func(b []byte, at int, _ []byte) []byte { // a sector is missing
		copy(b[at:], b[min(at+512, len(b)):])
		return b
	}},
	{"cut off", func(b []byte, at int, _ []byte) []byte { return b[:at] }},
}

// around returns the aligned block of n bytes that has the offset at.
func around(b []byte, at, n int) []byte {
	from := at / n * n
	return b[from:min(from+n, len(b))]
}

func fillGarbage(b []byte, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}
