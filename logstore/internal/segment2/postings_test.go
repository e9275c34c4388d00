package segment2

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// addAll adds the labels of streams, and returns the ordinals of each label by
// its name and value.
func addAll(p *postings, streams []string) map[[2]string]*roaring.Bitmap {
	all := map[[2]string]*roaring.Bitmap{}
	for ordinal, labels := range streams {
		i := 0
		eachLabel(labels, func(name, value, _ string) {
			name, _ = cutSized(name)
			p.add(i, name, value, uint32(ordinal))
			i++
			k := [2]string{name, value}
			if all[k] == nil {
				all[k] = roaring.New()
			}
			all[k].Add(uint32(ordinal))
		})
	}
	return all
}

// readPostings decodes all parts, and compares the directory with them.
func readPostings(t testing.TB, p *postings) (list []posting, complete bool) {
	t.Helper()
	var firsts []posting
	directory, names := p.parts(func(part []byte) {
		got, err := parsePostings(slices.Clone(part))
		if err != nil {
			t.Fatal(err)
		}
		firsts = append(firsts, posting{name: got[0].name, value: got[0].value})
		list = append(list, got...)
	})
	parts, complete, err := parsePostingsDirectory(directory)
	if err != nil || !slices.EqualFunc(parts, firsts, func(a, b posting) bool { return a.compare(b.name, b.value) == 0 }) {
		t.Fatalf("%d parts, want %d: %v", len(parts), len(firsts), err)
	}
	distinct := 0
	for i := range list {
		if i == 0 || list[i].name != list[i-1].name {
			distinct++
		}
	}
	if distinct != names {
		t.Fatalf("%d names of %d", distinct, names)
	}
	return list, complete
}

// Names have postings up to 1,024 values: the ordinals of each value, all of
// them.
func TestPostings(t *testing.T) {
	for _, values := range []int{1, maxPostingValues - 1, maxPostingValues, maxPostingValues + 1} {
		r := rand.New(rand.NewPCG(1, 2))
		var streams []string
		for i := range 5000 {
			v := i
			if i >= values {
				v = r.IntN(values)
			}
			streams = append(streams, labelsOf("a", fmt.Sprint("v", v), "b", []string{"x", "y"}[i/3%2], "c"+fmt.Sprint(i%7), "z"))
		}
		p := newPostings()
		want := addAll(p, streams)
		list, complete := readPostings(t, p)
		if complete != (values <= maxPostingValues) {
			t.Errorf("%d values: complete is %v", values, complete)
		}
		if !complete {
			for k := range want {
				if k[0] == "a" {
					delete(want, k)
				}
			}
		}
		for _, l := range list {
			got := roaring.New()
			if err := addRuns(got, l.runs, len(streams)); err != nil || !got.Equals(want[[2]string{l.name, l.value}]) {
				t.Fatalf("%d values: %s=%s: %v, %v", values, l.name, l.value, got, err)
			}
			if addRuns(roaring.New(), l.runs, int(got.Maximum())) == nil {
				t.Fatalf("%d values: %s=%s: an ordinal too high is taken", values, l.name, l.value)
			}
		}
		if len(list) != len(want) {
			t.Errorf("%d values: %d labels; want %d", values, len(list), len(want))
		}
	}
}

// A name or a value of more than 1 KiB has no postings.
func TestPostingsText(t *testing.T) {
	long := strings.Repeat("x", maxPostingText)
	for _, c := range []struct {
		name, value string
		kept        bool
	}{{"n", "v", true}, {long, long, true}, {long + "x", "v", false}, {"n", long + "x", false}} {
		p := newPostings()
		p.add(0, "app", "api", 0)
		p.add(1, c.name, c.value, 0)
		p.add(1, c.name, "v", 1)
		list, complete := readPostings(t, p)
		if complete != c.kept || (len(list) > 1) != c.kept || list[0].name != "app" {
			t.Errorf("%d and %d bytes: %d labels, complete is %v", len(c.name), len(c.value), len(list), complete)
		}
		if s := newSummary(p); !s.may(c.name, c.value) || !s.may(c.name, "v") || s.may("app", "x") {
			t.Errorf("%d and %d bytes: the summary is %+v", len(c.name), len(c.value), s)
		}
	}
}

// With more memory than the limit the largest names are given up, and a name
// that was given up does not come back.
func TestPostingsMemory(t *testing.T) {
	const limit = 300_000
	r := rand.New(rand.NewPCG(1, 2))
	var streams []string
	for i := range 3000 {
		big := strings.Repeat("v", 1+r.IntN(300))
		streams = append(streams, labelsOf("app", fmt.Sprint(i%10), "big", fmt.Sprint(big, i%900), fmt.Sprint("name", i), "x"))
	}
	p := newPostings()
	p.limit = limit
	want := addAll(p, streams)
	if p.memory > limit || !p.closed {
		t.Errorf("%d bytes of memory, closed is %v", p.memory, p.closed)
	}
	had := 0
	for _, n := range p.names {
		had += n.memory
	}
	if had != p.memory {
		t.Errorf("%d bytes of memory are counted, and the names have %d", p.memory, had)
	}
	list, complete := readPostings(t, p)
	if complete {
		t.Error("the names are complete")
	}
	names := map[string]int{}
	for _, l := range list {
		names[l.name]++
		got := roaring.New()
		if err := addRuns(got, l.runs, len(streams)); err != nil || !got.Equals(want[[2]string{l.name, l.value}]) {
			t.Fatalf("%s=%s: %v, %v", l.name, l.value, got, err)
		}
	}
	if names["app"] != 10 || names["big"] != 0 || len(names) < 100 {
		t.Errorf("%d values of app, %d of big, %d names", names["app"], names["big"], len(names))
	}
}

// Postings take 8 MiB of memory, and not a byte more.
func TestPostingsLimit(t *testing.T) {
	for _, more := range []bool{false, true} {
		p := newPostings()
		value := strings.Repeat("v", maxPostingText)
		n := uint32(0)
		for ; p.memory+len(value)+nameMemory+valueMemory+100 <= postingsMemory; n++ {
			p.add(0, fmt.Sprint("n", n), value, n)
		}
		if more {
			p.add(0, "last", value, n)
			p.add(0, "small", "value", n+1)
			p.add(0, "n0", value, n+2)
		}
		list, complete := readPostings(t, p)
		if complete == more || (len(list) == int(n)) == more || len(list) < int(n)*3/4 || p.memory > postingsMemory {
			t.Errorf("above the limit %v: %d labels of %d, complete is %v, %d bytes", more, len(list), n, complete, p.memory)
		}
		for _, l := range list {
			if l.name == "small" {
				t.Error("a name that came too late has postings")
			}
		}
	}
}

func FuzzPostings(f *testing.F) {
	p := newPostings()
	addAll(p, podLabels(rand.New(rand.NewPCG(1, 2)), 30))
	directory, _ := p.parts(func(part []byte) { f.Add(slices.Clone(part), 30) })
	f.Add(directory, 30)
	f.Fuzz(func(t *testing.T, p []byte, streams int) {
		var list []posting
		var err error
		took := filetest.Allocated(func() { list, err = parsePostings(p) })
		if most := uint64(64<<10 + 150*len(p)); took > most {
			t.Fatalf("%d bytes of memory for %d", took, len(p))
		}
		parsePostingsDirectory(p)
		if err != nil {
			return
		}
		var e postingsEncoder
		for _, l := range list {
			e.add(l.name, l.value, l.runs)
			addRuns(roaring.New(), l.runs, streams&0xffff)
		}
		again, err := parsePostings(e.part)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%v: %q, and was %q", err, again, list)
		}
		for i := range list {
			if again[i].compare(list[i].name, list[i].value) != 0 || !slices.Equal(again[i].runs, list[i].runs) {
				t.Fatalf("%q, and was %q", again[i], list[i])
			}
		}
	})
}

// The summary has at most 2 KiB, whatever the labels, and rules out no label
// that a stream has.
func TestSummary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	several := func(n int, f func(i int) string) (list []string) {
		for i := range n {
			list = append(list, f(i))
		}
		return list
	}
	for _, c := range []struct {
		name     string
		streams  []string
		complete bool
		out      [][2]string // labels that are ruled out
	}{
		{"no labels", []string{""}, true, [][2]string{{"app", "api"}}},
		{"a few values", several(100, func(i int) string { return labelsOf("app", fmt.Sprint(i%32), "host", fmt.Sprint(i)) }), true,
			[][2]string{{"app", "33"}, {"apps", "1"}}},
		{"many pods", podLabels(r, 5000), true, [][2]string{{"app", "app-77"}, {"level", "fatal"}, {"pods", ""}}},
		{"long names", several(40, func(i int) string { return labelsOf(fmt.Sprint(i, strings.Repeat("n", 30_000)), "v") }), false, nil},
		{"many names", several(10_000, func(i int) string { return labelsOf(fmt.Sprint("name", i), "v") }), false, nil},
		{"one name too long", []string{labelsOf("app", "x", strings.Repeat("n", 64_000), "v")}, false, [][2]string{{"app", "y"}}},
		{"long values", several(30, func(i int) string { return labelsOf("app", "x", "url", fmt.Sprint(strings.Repeat("u", 2000), i)) }), true,
			[][2]string{{"app", "y"}}},
		{"values of which a list does not fit", several(30, func(i int) string { return labelsOf("url", fmt.Sprint(strings.Repeat("u", 900), i)) }), true,
			[][2]string{{"url", strings.Repeat("u", 900)}}},
	} {
		p := newPostings()
		want := addAll(p, c.streams)
		enc := newSummary(p).append(nil)
		if len(enc) > maxSummary {
			t.Errorf("%s: %d bytes; want at most %d", c.name, len(enc), maxSummary)
		}
		s, err := parseSummary(enc)
		if err != nil || s.complete != c.complete {
			t.Errorf("%s: complete is %v, %v", c.name, s.complete, err)
			continue
		}
		for k := range want {
			if !s.may(k[0], k[1]) {
				t.Errorf("%s: %.20s=%.20s is ruled out", c.name, k[0], k[1])
			}
		}
		for _, k := range c.out {
			if s.may(k[0], k[1]) {
				t.Errorf("%s: %s=%.20s is not ruled out", c.name, k[0], k[1])
			}
		}
		t.Logf("%s: %d bytes, %d names", c.name, len(enc), len(s.names))
	}
}

func FuzzSummary(f *testing.F) {
	p := newPostings()
	addAll(p, podLabels(rand.New(rand.NewPCG(1, 2)), 100))
	f.Add(newSummary(p).append(nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		s, err := parseSummary(p)
		if err != nil {
			return
		}
		enc := s.append(nil)
		again, err := parseSummary(enc)
		if err != nil || string(again.append(nil)) != string(enc) {
			t.Fatalf("%v: %+v, and was %+v", err, again, s)
		}
		s.may("app", "api")
	})
}

func TestTenants(t *testing.T) {
	info := Info{MinTime: -50, Streams: 9, Rows: 12, Raw: 130}
	list := []tenantRange{
		{streams: 3, blocks: 2, frames: 500, filters: 20, rows: 5, raw: 100, minTime: -50, maxTime: 7},
		{tenant: "z", streams: 2},
		{tenant: "aa", streams: 4, blocks: 1, frames: 90, rows: 7, raw: 30, minTime: 60, maxTime: 60},
	}
	p := appendTenants(nil, list, info.MinTime)
	got, err := parseTenants(p, info)
	if err != nil || !slices.Equal(got, list) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, other := range []Info{{Streams: 8, Rows: 12, Raw: 130}, {Streams: 9, Rows: 11, Raw: 130}, {Streams: 9, Rows: 12, Raw: 131}} {
		if _, err := parseTenants(p, other); err == nil {
			t.Errorf("%+v is taken", other)
		}
	}
	slices.Reverse(list)
	if _, err := parseTenants(appendTenants(nil, list, info.MinTime), info); err == nil {
		t.Error("tenants that are not in order are taken")
	}
}

func FuzzTenants(f *testing.F) {
	f.Add(appendTenants(nil, []tenantRange{{tenant: "t", streams: 3, blocks: 2, rows: 2, maxTime: 7}}, 0), 3, 2)
	f.Fuzz(func(t *testing.T, p []byte, streams, rows int) {
		info := Info{Streams: streams, Rows: int64(rows)}
		if got, err := parseTenants(p, info); err == nil {
			again, err := parseTenants(appendTenants(nil, got, 0), info)
			if err != nil || !slices.Equal(again, got) {
				t.Fatalf("%v: %+v, and was %+v", err, again, got)
			}
		}
	})
}

// The stream filter has all streams, in parts by the highest bits.
func TestStreamFilter(t *testing.T) {
	for _, n := range []int{0, 1, 40_000, 200_000} {
		var s streamKeys
		for i := range n {
			s.add(fmt.Append(nil, "key", i))
		}
		sets := s.sets()
		if p := len(sets); p&(p-1) != 0 || p > filterParts {
			t.Errorf("%d parts", p)
		}
		has := func(key string) bool {
			h := filter.KeyOf(key)
			return filter.InSet(sets[partOfHash(h, len(sets))], h)
		}
		for i := range n {
			if !has(fmt.Sprint("key", i)) {
				t.Fatalf("stream %d of %d is not in its part", i, n)
			}
		}
		wrong := 0
		for i := range 10_000 {
			if has(fmt.Sprint("other", i)) {
				wrong++
			}
		}
		if wrong > 80 {
			t.Errorf("%d streams: %d of 10,000 others seem to be there", n, wrong)
		}
	}
}
