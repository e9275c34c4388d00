package segment

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
)

func wordOf(e entry) filter.Needle {
	word, _, _ := bytes.Cut([]byte(e.line), []byte(" "))
	return filter.Word(word)
}

// harm is a way to damage bytes.
type harm struct {
	name string
	do   func(p []byte, at int) []byte
}

var harms = []harm{
	{"a flipped bit", func(p []byte, at int) []byte { p[at] ^= 1 << (at % 8); return p }},
	{"64 zeros", func(p []byte, at int) []byte { clear(p[at:min(at+64, len(p))]); return p }},
	{"a sector of another file", func(p []byte, at int) []byte {
		copy(p[at:min(at+512, len(p))], bytes.Repeat([]byte("BLOKFLTR"), 64))
		return p
	}},
	{"the rest cut off", func(p []byte, at int) []byte { return p[:at] }},
	{"a hole closed", func(p []byte, at int) []byte { return append(p[:at], p[min(at+16, len(p)):]...) }},
}

// specimen is a small segment with everything that a segment can have, merged
// so that runs are not written in order.
func specimen(t testing.TB) ([]byte, map[string][]entry) {
	r := rand.New(rand.NewPCG(11, 12))
	var all []entry
	var sources []*Segment
	for i := range 3 {
		part := someEntries(r, 60, 9)
		all = append(all, part...)
		sources = append(sources, open(t, pack(t, part, Info{After: uint64(i), Upto: uint64(i + 1)}, 256, 6)))
	}
	return bytesOf(t, mergeAll(t, sources, MergeOptions{BlockRaw: 512})), byStream(all)
}

// With damage of any kind, at every offset: all that is read was written, all
// that cannot be read is reported, and one damaged place loses at most one
// block.
func TestDamage(t *testing.T) {
	intact, want := specimen(t)
	info := open(t, intact).Info()
	largest := int64(0) // rows of a block
	s := open(t, intact)
	for i := range info.Blocks {
		b, err := s.Block(i)
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, int64(b.Rows))
	}
	for i, h := range harms {
		stride := 19 // every structure is larger
		switch {
		case raceEnabled:
			stride = 149
		case i > 0:
			stride = 47
		}
		if os.Getenv("STELE_LONG") != "" {
			stride = 1
		}
		for at := i; at < len(intact); at += stride {
			p := h.do(slices.Clone(intact), at)
			if bytes.Equal(p, intact) {
				continue
			}
			cut := len(p) < len(intact) && h.name == "the rest cut off"
			src := inMemory(p)
			if at%2 == 0 {
				src = inView(p)
			}
			s, err := Open(src, int64(len(p)))
			if err != nil {
				if !isCorrupt(err) {
					t.Fatalf("%s at %d: Open: %v", h.name, at, err)
				}
				var lost []error
				s, lost, err = Scan(t.Context(), src, int64(len(p)), info)
				if err != nil {
					if isCorrupt(err) && (cut && at < headerSize+footerSize || h.name == "a hole closed" && at < headerSize) {
						continue // nothing is there to know it by
					}
					t.Fatalf("%s at %d: Scan: %v", h.name, at, err)
				}
				if s.Info().Rows < info.Rows && len(lost) == 0 {
					t.Fatalf("%s at %d: %d of %d rows, and nothing is lost", h.name, at, s.Info().Rows, info.Rows)
				}
			} else if err := s.Verify(t.Context(), nil); !isCorrupt(err) {
				t.Fatalf("%s at %d: Verify: %v", h.name, at, err)
			}
			got, errs := read(s)
			subset(t, got, want)
			if rows(got) < info.Rows && len(errs) == 0 && s.Info().Rows == info.Rows {
				t.Fatalf("%s at %d: rows are missing and no error", h.name, at)
			}
			noneHidden(t, s, h.name, at)
			var out bytes.Buffer
			if _, err := Merge(t.Context(), &out, []*Segment{s}, MergeOptions{BlockRaw: 700}); err == nil {
				merged, errs := read(open(t, out.Bytes()))
				if len(errs) > 0 || rows(merged) != s.Info().Rows {
					t.Fatalf("%s at %d: merged: %d of %d rows, %v", h.name, at, rows(merged), s.Info().Rows, errs)
				}
				subset(t, merged, want)
			} else if !isCorrupt(err) {
				t.Fatalf("%s at %d: Merge: %v", h.name, at, err)
			}
			got, errs = read(salvaged(t, s))
			if len(errs) > 0 {
				t.Fatalf("%s at %d: salvaged: %v", h.name, at, errs)
			}
			subset(t, got, want)
			if h.name == "a flipped bit" && rows(got) < info.Rows-largest {
				t.Fatalf("%s at %d: %d of %d rows are left", h.name, at, rows(got), info.Rows)
			}
		}
	}
}

func salvaged(t testing.TB, s *Segment) *Segment {
	t.Helper()
	var out bytes.Buffer
	info, lost, err := Salvage(t.Context(), &out, s, MergeOptions{Generation: 9})
	if err != nil {
		t.Fatal(err)
	}
	if info.Rows < s.Info().Rows && len(lost) == 0 {
		t.Fatalf("%d of %d rows, and nothing is lost", info.Rows, s.Info().Rows)
	}
	saved := open(t, out.Bytes())
	mustVerify(t, saved)
	return saved
}

func rows(all map[string][]entry) (n int64) {
	for _, list := range all {
		n += int64(len(list))
	}
	return n
}

// subset verifies that the rows are a subset of the written ones, in order.
func subset(t testing.TB, got, want map[string][]entry) {
	t.Helper()
	for labels, list := range got {
		rest := want[labels]
		for _, e := range list {
			i := slices.Index(rest, e)
			if i < 0 {
				t.Fatalf("%+v was not written, or not there", e)
			}
			rest = rest[i+1:]
		}
	}
}

// noneHidden checks that no filter rules out a line that can be read.
func noneHidden(t testing.TB, s *Segment, harm string, at int) {
	t.Helper()
	eachRow(t, s, func(block int, e entry) {
		if may, _ := s.May(block, wordOf(e)); !may {
			t.Fatalf("%s at %d hides %+v", harm, at, e)
		}
	})
}

// A segment of a later version is not damaged.
func TestVersion(t *testing.T) {
	p, _ := specimen(t)
	e, _, _ := parseFooter(p[len(p)-footerSize:])
	later := e.append(nil)
	later[112]++
	sum := checksum(later[:footerSize-12])
	for i := range 4 {
		later[footerSize-12+i] = byte(sum >> (8 * i))
	}
	copy(p[len(p)-footerSize:], later)
	for name, err := range map[string]error{
		"Open": func() error { _, err := Open(inMemory(p), int64(len(p))); return err }(),
		"Scan": func() error { _, _, err := Scan(t.Context(), inMemory(p), int64(len(p)), Info{}); return err }(),
	} {
		if v, ok := err.(*VersionError); !ok || v.Version != version+1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
