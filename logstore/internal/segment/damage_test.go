package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
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

// specimen is a small segment with everything that a segment can have. As a merge left
// them, runs are not written in their order, and seqs have gaps.
func specimen(t testing.TB) ([]byte, map[string][]entry) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	var all []entry
	var parts []map[string][]entry
	for range 3 {
		part := someEntries(r, 60, 9)
		all, parts = append(all, part...), append(parts, byStream(part))
	}
	want := byStream(all)
	var out bytes.Buffer
	p := packer{w: segmenttest.NewWriter(&out), maxRaw: 512}
	err := error(nil)
	for _, labels := range slices.Sorted(maps.Keys(want)) {
		for _, part := range []int{1, 0, 2} {
			seq := uint64(100*part + 1)
			if n := len(p.runs); n > 0 && p.runs[n-1].Labels == labels && p.runs[n-1].Seq > seq {
				err = errors.Join(err, p.flush()) // in a block they are
			}
			for rows := range slices.Chunk(parts[part][labels], 6) {
				err = errors.Join(err, p.run(rows, seq))
				seq += 2
			}
		}
	}
	err = errors.Join(err, p.flush())
	if _, finishErr := p.w.Finish(segment2.Info{Upto: 3}); err != nil || finishErr != nil {
		t.Fatal(err, finishErr)
	}
	return out.Bytes(), want
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
			got = salvaged(t, s)
			subset(t, got, want)
			if h.name == "a flipped bit" && rows(got) < info.Rows-largest {
				t.Fatalf("%s at %d: %d of %d rows are left", h.name, at, rows(got), info.Rows)
			}
		}
	}
}

// salvaged returns the rows that segment2.SalvageSource keeps. A merge has all of them,
// or fails.
func salvaged(t testing.TB, s *Segment) map[string][]entry {
	t.Helper()
	var out bytes.Buffer
	info, lost, err := segment2.SalvageSource(t.Context(), &out, s.MergeSource(), segment2.MergeOptions{Generation: 9})
	if err != nil {
		t.Fatal(err)
	}
	if info.Rows < s.Info().Rows && len(lost) == 0 {
		t.Fatalf("%d of %d rows, and nothing is lost", info.Rows, s.Info().Rows)
	}
	kept := readVersion2(t, out.Bytes())
	out.Reset()
	if _, err = segment2.Merge(t.Context(), &out, []segment2.MergeSource{s.MergeSource()}, segment2.MergeOptions{BlockRaw: 700}); err == nil {
		same(t, readVersion2(t, out.Bytes()), kept)
	} else if !isCorrupt(err) {
		t.Fatalf("Merge: %v", err)
	}
	return kept
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
	later := p[len(p)-footerSize:]
	later[112]++
	binary.LittleEndian.PutUint32(later[footerSize-12:], checksum(later[:footerSize-12]))
	for name, err := range map[string]error{
		"Open": func() error { _, err := Open(inMemory(p), int64(len(p))); return err }(),
		"Scan": func() error { _, _, err := Scan(t.Context(), inMemory(p), int64(len(p)), segment2.Info{}); return err }(),
	} {
		if v, ok := err.(*segment2.VersionError); !ok || v.Version != version+1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
