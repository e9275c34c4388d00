package segment2

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// harm is a way to damage bytes.
type harm struct {
	name string
	do   func(p []byte, at int) []byte
}

var harms = []harm{
	{"a flipped bit", func(p []byte, at int) []byte { p[at] ^= 1 << (at % 8); return p }},
	{"64 zeros", func(p []byte, at int) []byte { clear(p[at:min(at+64, len(p))]); return p }},
	{"a sector of another file", func(p []byte, at int) []byte {
		copy(p[at:min(at+512, len(p))], bytes.Repeat([]byte("BLOKLABL"), 64))
		return p
	}},
	{"the rest cut off", func(p []byte, at int) []byte { return p[:at] }},
	{"a hole closed", func(p []byte, at int) []byte { return append(p[:at], p[min(at+16, len(p)):]...) }},
}

// specimen is a small segment with everything that a segment can have.
func specimen(t testing.TB) *packed {
	return pack(t, someRows(rand.New(rand.NewPCG(11, 12)), 700, 60), Info{After: 1, Upto: 99, Generation: 3, Log: [16]byte{9}}, 700, 8)
}

// With damage of any kind, at every offset: all that is read was written, all
// that cannot be read is reported, Verify reports it, and one flipped bit loses
// at most one block, and no name.
func TestDamage2(t *testing.T) {
	k := specimen(t)
	for i, h := range harms {
		t.Run(h.name, func(t *testing.T) {
			stride := 43
			switch {
			case raceEnabled:
				stride = 997
			case i > 0:
				stride = 211
			}
			if os.Getenv("STELE_LONG") != "" {
				stride = 1
			}
			for at := i; at < len(k.p); at += stride {
				if p := h.do(slices.Clone(k.p), at); !bytes.Equal(p, k.p) {
					k.checkDamaged(t, h.name, at, p)
				}
			}
		})
	}
}

// checkDamaged checks what can be read of p, by the index and without it.
func (k *packed) checkDamaged(t *testing.T, harm string, at int, p []byte) {
	t.Helper()
	total, most := countRows(k.rows), 0 // most: rows of a block
	for _, b := range k.blocks {
		most = max(most, len(b.rows))
	}
	flipped := harm == "a flipped bit"
	x, err := openBytes(p, at%2 == 0, mapCache{})
	n := 0 // rows that can be read
	switch {
	case err == nil:
		if err := x.card.Verify(t.Context(), x.src, nil); !isCorrupt(err) {
			t.Fatalf("%s at %d: Verify: %v", harm, at, err)
		}
		got, errs := readAll(t, x)
		subset(t, harm, at, got, k.rows)
		n = countRows(got)
		if n < total && len(errs) == 0 || flipped && n < total-most {
			t.Fatalf("%s at %d: %d of %d rows by the index, %d errors", harm, at, n, total, len(errs))
		}
		k.noneHidden(t, x, harm, at)
		if flipped {
			k.sameTotals(t, x, at)
		}
	case !isCorrupt(err):
		t.Fatalf("%s at %d: OpenCard: %v", harm, at, err)
	}
	got, lost, err := scanAll(t, p, k.info)
	if err != nil {
		if isCorrupt(err) && at < headerSize && (harm == "a hole closed" || harm == "the rest cut off") {
			return // nothing is there to know it by
		}
		t.Fatalf("%s at %d: Scan: %v", harm, at, err)
	}
	subset(t, harm, at, got, k.rows)
	if m := countRows(got); m < total && len(lost) == 0 || flipped && max(n, m) < total-most {
		t.Fatalf("%s at %d: %d of %d rows were found, %d errors", harm, at, m, total, len(lost))
	}
}

// scanAll returns the rows that Scan finds.
func scanAll(t testing.TB, p []byte, info Info) (map[streamKey][]row, []error, error) {
	t.Helper()
	s, lost, err := Scan(t.Context(), memory{p: p}, int64(len(p)), Info{After: info.After, Upto: info.Upto, Generation: info.Generation})
	if err != nil {
		return nil, nil, err
	}
	all := map[streamKey][]runRows{}
	var f Frame
	for i := range s.Info().Blocks {
		if err := s.ReadFrame(t.Context(), &f, i); err != nil {
			lost = append(lost, err)
			continue
		}
		ids, err := s.IDs(nil, &f)
		if err != nil {
			lost = append(lost, err)
		}
		rows, err := decodeRows(t.Context(), s, &f, ids, func(ordinal uint32) (streamKey, error) {
			if tenant, labels, ok := s.Key(ordinal); ok {
				return streamKey{tenant, labels}, nil
			}
			return streamKey{}, errors.New("its labels are lost")
		})
		if err != nil {
			lost = append(lost, err)
			continue
		}
		collect(all, &f, rows)
	}
	return merged(all), lost, nil
}

func countRows(all map[streamKey][]row) (n int) {
	for _, list := range all {
		n += len(list)
	}
	return n
}

// subset verifies that the rows are some of the written ones, in order. Their
// IDs may be lost.
func subset(t testing.TB, harm string, at int, got, want map[streamKey][]row) {
	t.Helper()
	for key, list := range got {
		rest := want[key]
		for _, e := range list {
			i := slices.IndexFunc(rest, func(w row) bool {
				if e.id == (ID{}) {
					w.id = ID{}
				}
				return w == e
			})
			if i < 0 {
				t.Fatalf("%s at %d: %+v was not written, or not there", harm, at, e)
			}
			rest = rest[i+1:]
		}
	}
}

// noneHidden checks that no filter rules out a line, and that no stream can be
// found under another's labels.
func (k *packed) noneHidden(t testing.TB, x Index, harm string, at int) {
	t.Helper()
	ctx := t.Context()
	zones, _ := x.Zones(ctx)
	for i := range zones {
		g, _ := x.Group(ctx, i)
		if g == nil {
			continue
		}
		filters, err := x.Filters(ctx, g)
		if err != nil {
			if !isCorrupt(err) {
				t.Fatalf("%s at %d: Filters: %v", harm, at, err)
			}
			continue
		}
		for n := g.First; n < g.First+len(g.Blocks); n++ {
			for _, e := range k.blocks[n].rows {
				if may, _ := filters.May(g, n, wordOf(e)); !may {
					t.Fatalf("%s at %d hides %+v", harm, at, e)
				}
			}
		}
		filters.Release()
	}
	for i := 0; i < len(k.streams); i += 7 {
		key := k.streams[i]
		n, ok, err := x.Find(ctx, key.tenant, key.labels)
		if ok && int(n) != i || !ok && err == nil {
			t.Fatalf("%s at %d: Find(%q) = %d, %v, %v; want %d", harm, at, key, n, ok, err, i)
		}
		for name, value := range allLabels(key.labels) {
			set, err := x.Select(ctx, key.tenant, []Condition{{Name: name, Values: []string{value}}})
			if err == nil && set != nil && !set.Contains(uint32(i)) {
				t.Fatalf("%s at %d: Select of %s=%s is %v without %d", harm, at, name, value, set, i)
			}
		}
	}
}

// sameTotals checks that a flipped bit changes nothing about the streams.
func (k *packed) sameTotals(t testing.TB, x Index, at int) {
	t.Helper()
	totals := make([]streamTotal, len(k.streams))
	for _, r := range k.runs {
		totals[r.Ordinal].add(r)
	}
	for i := range totals {
		p, err := x.Streams(t.Context(), i/PartStreams)
		if p == nil || p.Streams[uint32(i)-p.First] != totals[i].stored() {
			t.Fatalf("a flipped bit at %d: totals of stream %d: %v, %v", at, i, p, err)
		}
		if key, err := keyOf(t.Context(), x, uint32(i)); key != k.streams[i] {
			t.Fatalf("a flipped bit at %d: stream %d is %q, %v; want %q", at, i, key, err, k.streams[i])
		}
	}
}

// A segment of a later version is not damaged, and neither is one with a
// section or a codec that this program does not know.
func TestVersion2(t *testing.T) {
	k := specimen(t)
	f, _, _ := parseFooter(k.p[len(k.p)-footerSize:])
	later := slices.Clone(k.p)
	foot := later[len(later)-footerSize:]
	foot[112]++
	sum := checksum(foot[:footerSize-12])
	for i := range 4 {
		foot[footerSize-12+i] = byte(sum >> (8 * i))
	}
	unknown := slices.Clone(k.p)
	table := unknown[f.table:][:f.tableBytes]
	last := table[len(table)-sectionSize:]
	last[0], last[2] = 200, byte(FlagNeeded)
	f.tableSum = checksum(table)
	copy(unknown[len(unknown)-footerSize:], f.append(nil))
	for name, p := range map[string][]byte{"a later version": later, "an unknown section": unknown} {
		if _, err := openBytes(p, false, nil); !isVersion(err) {
			t.Errorf("%s: OpenCard: %v", name, err)
		}
	}
	if _, _, err := Scan(t.Context(), memory{p: later}, int64(len(later)), Info{}); !isVersion(err) {
		t.Errorf("Scan of a later version: %v", err)
	}
}

func isVersion(err error) bool {
	_, ok := errors.AsType[*VersionError](err)
	return ok
}
