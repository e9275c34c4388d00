package segment2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// labelsOf encodes labels as package logstore does.
func labelsOf(namesAndValues ...string) string {
	var p []byte
	for _, s := range namesAndValues {
		p = append(binary.AppendUvarint(p, uint64(len(s))), s...)
	}
	return string(p)
}

// podLabels returns the labels of n streams, in order: few apps, many hosts, a
// unique pod.
func podLabels(r *rand.Rand, n int) []string {
	list := make([]string, n)
	for i := range list {
		app := fmt.Sprintf("app-%02d", r.IntN(40))
		list[i] = labelsOf("app", app, "host", fmt.Sprintf("host-%06d", r.IntN(max(n/20, 1))),
			"level", []string{"debug", "info", "warn", "error"}[r.IntN(4)], "pod", fmt.Sprintf("%s-%013x", app, r.Uint64()>>12))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A labelFile is the label frames of a segment with their directory.
type labelFile struct {
	p         []byte
	salt      uint64
	directory []chunkEntry
	filters   [][]byte
	parity    [][]byte
	keys      []string
}

// writeLabels writes label frames as a Writer does.
func writeLabels(t testing.TB, keys []string) *labelFile {
	t.Helper()
	f := &labelFile{p: make([]byte, headerSize), salt: 99, keys: keys}
	var b chunkBuilder
	var y parity
	var z zipper
	first := uint32(0)
	var last []byte
	sep := ""
	cut := func() {
		off := int64(len(f.p))
		stored, err := z.append(nil, b.keys)
		if err != nil {
			t.Fatal(err)
		}
		head := labelFrame{number: uint32(len(f.directory)), raw: uint32(len(b.keys)), first: first, streams: uint32(b.streams), stored: uint32(len(stored)), sum: checksum(stored)}
		frame := append(head.append(nil, f.salt, off), stored...)
		f.directory = append(f.directory, chunkEntry{off: off, stored: head.stored, first: first, streams: head.streams, separator: sep})
		f.filters = append(f.filters, b.set.Append(nil))
		f.p = append(f.p, frame...)
		y.add(frame)
		first += head.streams
		b.reset()
	}
	for _, k := range keys {
		if !b.fits(len(k)) {
			cut()
		}
		if b.streams == 0 && len(last) > 0 {
			sep = separator(last, []byte(k))
		}
		b.add([]byte(k))
		_, labels, _ := splitKey(k)
		if !eachLabel(labels, func(name, _, both string) { b.addLabel(name, both) }) {
			t.Fatalf("%q is not well-formed", labels)
		}
		last = []byte(k)
	}
	if b.streams > 0 {
		cut()
	}
	f.parity = y.join()
	return f
}

func (f *labelFile) chunk(i int) ([]byte, error) {
	e := f.directory[i]
	p := f.p[e.off : e.off+e.bytes()]
	_, _, err := parseChunk(p, f.salt, e.off)
	return p, err
}

func keysOf(tenant string, labels []string) (keys []string) {
	for _, l := range labels {
		keys = append(keys, string(appendKey(nil, tenant, l)))
	}
	return keys
}

func TestKeyOfStream(t *testing.T) {
	for _, tenant := range []string{"", "a", strings.Repeat("t", MaxTenant)} {
		for _, labels := range []string{"", "x", strings.Repeat("l", MaxLabels)} {
			key := appendKey(nil, tenant, labels)
			if got, l, ok := splitKey(string(key)); got != tenant || l != labels || !ok || len(key) > maxKey {
				t.Errorf("%q, %d bytes, %v", got, len(l), ok)
			}
		}
	}
	for _, bad := range []string{"", "\x05abcd", "\x00" + strings.Repeat("l", MaxLabels+1)} {
		if _, _, ok := splitKey(bad); ok {
			t.Errorf("%.10q is a key", bad)
		}
	}
}

func TestEachLabel(t *testing.T) {
	var got []string
	ok := eachLabel(labelsOf("app", "api", "n", strings.Repeat("v", 40_000)), func(name, value, both string) {
		got = append(got, name, value[:1], fmt.Sprint(len(both)))
	})
	if want := []string{"\x03app", "a", "8", "\x01n", "v", "40005"}; !ok || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, ok, want)
	}
	for _, bad := range []string{"\x00", "\x01a", "\x01a\x00", "\x00\x01a", "\x02a", "\xff\xff\xff\xff\x01", "\x80"} {
		if eachLabel(bad, func(_, _, _ string) {}) {
			t.Errorf("%q is well-formed", bad)
		}
	}
}

// The chunks of many streams: found by ordinal, by key and by label.
func TestChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	keys := append(keysOf("", podLabels(r, 20_000)), keysOf("t", podLabels(r, 3000))...)
	keys = append(keys, keysOf("t1", []string{labelsOf("a", "b"), labelsOf("a", strings.Repeat("long", 10_000)), labelsOf("b", "b")})...)
	f := writeLabels(t, keys)
	t.Logf("%d streams, %d bytes: %d chunks, %d bytes", len(keys), len(strings.Join(keys, "")), len(f.directory), len(f.p))
	directory, err := parseDirectory(appendDirectory(nil, f.directory), len(keys))
	if err != nil || !slices.Equal(directory, f.directory) {
		t.Fatal(err)
	}
	for i, key := range keys {
		c := chunkOf(directory, uint32(i))
		if got := chunkOfKey(directory, key); got != c {
			t.Fatalf("stream %d is in chunk %d, and its key leads to chunk %d", i, c, got)
		}
		_, labels, _ := splitKey(key)
		eachLabel(labels, func(name, value, _ string) {
			for _, v := range []string{value, ""} {
				if !filter.InSet(f.filters[c], labelKeyOf(name[1:], v)) {
					t.Fatalf("the filter of chunk %d rules out %q=%q", c, name, v)
				}
			}
		})
	}
	var got []string
	wrong := 0
	for i, e := range directory {
		p, err := f.chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		head, keys, _ := parseChunk(p, f.salt, e.off)
		if int(head.number) != i || head.first != e.first || head.streams != e.streams || len(keys) > chunkStreams ||
			len(keys) > 1 && len(strings.Join(keys, "")) > chunkBytes {
			t.Errorf("%+v", head)
		}
		got = append(got, keys...)
		for k := range 100 {
			if filter.InSet(f.filters[i], labelKeyOf("pod", fmt.Sprint("other", k))) {
				wrong++
			}
		}
	}
	if !slices.Equal(got, keys) {
		t.Error("the keys are not those written")
	}
	if most := 3 * len(directory) * 100 / 256; wrong > most {
		t.Errorf("%d wrong answers of %d; want at most %d", wrong, len(directory)*100, most)
	}
	if chunkOfKey(directory, "") != 0 || chunkOfKey(directory, "\xff") != len(directory)-1 {
		t.Error("keys before and behind all others")
	}
}

// Any chunk is rebuilt from the others of its group, also where up to G
// neighbours are lost. With two of a group the error names their streams.
func TestParity(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, streams := range []int{1, 300, 4000, 20_000} {
		f := writeLabels(t, keysOf("", podLabels(r, streams)))
		chunks, g := len(f.directory), parityGroups(len(f.directory))
		if len(f.parity) != g || g < maxParity && (chunks+g-1)/g > parityChunks {
			t.Fatalf("%d parts for %d chunks; want %d", len(f.parity), chunks, g)
		}
		size := 0
		for _, p := range f.parity {
			size += len(p)
		}
		t.Logf("%d chunks, %d bytes: %d groups, %d bytes", chunks, len(f.p), g, size)
		intact := slices.Clone(f.p)
		for first := 0; first < chunks; first += 1 + chunks/8 {
			lost := min(g, chunks-first)
			from, end := f.directory[first], f.directory[first+lost-1]
			clear(f.p[from.off : end.off+end.bytes()])
			for i := first; i < first+lost; i++ {
				if _, err := f.chunk(i); err == nil {
					t.Fatal("zeros are labels")
				}
				got, err := rebuildFrame(f.directory, i, f.parity[i%g], f.chunk)
				e := f.directory[i]
				if err != nil || !bytes.Equal(got, intact[e.off:e.off+e.bytes()]) {
					t.Fatalf("chunk %d of %d: %v", i, chunks, err)
				}
			}
			if first+g < chunks {
				e := f.directory[first+g]
				f.p[e.off+e.bytes()-1]++
				_, err := rebuildFrame(f.directory, first, f.parity[first%g], f.chunk)
				want := fmt.Sprintf("streams %d to %d cannot be rebuilt, as those of %d to %d", from.first, from.first+from.streams-1, e.first, e.first+e.streams-1)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("%v; want %s", err, want)
				}
			}
			copy(f.p, intact)
		}
		f.parity[0][len(f.parity[0])-1]++
		if got, err := rebuildFrame(f.directory, 0, f.parity[0], f.chunk); err == nil {
			if _, _, err := parseChunk(got, f.salt, f.directory[0].off); err == nil {
				t.Error("a frame was made up of a damaged part")
			}
		}
	}
}

func FuzzChunk(f *testing.F) {
	keys := keysOf("", podLabels(rand.New(rand.NewPCG(1, 2)), 5))
	f.Add(appendKeys(nil, keys), 5)
	f.Add(appendKeys(nil, []string{"\x00", "\x01t"}), 2)
	f.Fuzz(func(t *testing.T, p []byte, streams int) {
		streams = max(1, streams%(chunkStreams+1))
		var got []string
		var err error
		took := filetest.Allocated(func() { got, err = parseKeys(p, streams) })
		if most := uint64(64<<10 + 6*maxKey + 64*chunkStreams + 4*len(p)); took > most {
			t.Fatalf("%d bytes of memory for %d", took, len(p))
		}
		if err != nil {
			return
		}
		again, err := parseKeys(appendKeys(nil, got), streams)
		if err != nil || !slices.Equal(again, got) {
			t.Fatalf("%v: %q, and was %q", err, again, got)
		}
		head := labelFrame{raw: uint32(len(p)), streams: uint32(streams), stored: uint32(len(p)), sum: checksum(p)}
		if _, keys, err := parseChunk(append(head.append(nil, 1, 2), p...), 1, 2); err != nil || !slices.Equal(keys, got) {
			t.Fatalf("in a frame: %v", err)
		}
	})
}

func FuzzDirectory(f *testing.F) {
	list := []chunkEntry{{off: headerSize, stored: 40, streams: 3}, {off: headerSize + 72, stored: 1, first: 3, streams: 9, separator: "abc"}}
	f.Add(appendDirectory(nil, list), 12)
	f.Fuzz(func(t *testing.T, p []byte, streams int) {
		streams = max(streams, 0)
		var got []chunkEntry
		var err error
		took := filetest.Allocated(func() { got, err = parseDirectory(p, streams) })
		if most := uint64(64<<10 + 40*len(p)); took > most {
			t.Fatalf("%d bytes of memory for %d", took, len(p))
		}
		if err == nil {
			again, err := parseDirectory(appendDirectory(nil, got), streams)
			if err != nil || !slices.Equal(again, got) {
				t.Fatalf("%v: %+v, and was %+v", err, again, got)
			}
		} else if !errors.Is(err, errForm) {
			t.Fatal(err)
		}
		if sets, err := parseFilters(p, streams&63); err == nil {
			var again []byte
			for _, s := range sets {
				again = append(binary.AppendUvarint(again, uint64(len(s))), s...)
			}
			if len(again) > len(p) {
				t.Fatalf("%d sets of %d bytes", len(sets), len(p))
			}
		}
	})
}
