package segment2

import (
	"math/rand/v2"
	"testing"
)

// What a query decodes of an index that is not in a cache.
func BenchmarkParse(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var z zipper
	store := func(p []byte) storedPart {
		s, err := z.store(p)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	run := func(name string, s storedPart, parse func(p []byte) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				p, err := unzip(buf, s.p, s.raw)
				if err == nil {
					buf, err = p[:0:cap(p)], parse(p)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(s.p)), "stored-B")
		})
	}
	blocks, _, many := someGroup(r, GroupBlocks, 1)
	run("part=blocks/blocks=256", store(appendBlocks(nil, blocks, many.Zone)), func(p []byte) error {
		_, err := parseGroup(p, 0, &many)
		return err
	})
	few, runs, zone := someGroup(r, 10, 1600)
	group := &Group{First: zone.First, Blocks: few}
	run("part=runs/runs=16000", store(appendRuns(nil, runs, few, zone.Zone)), func(p []byte) error {
		_, err := parseRuns(p, group, zone.Zone)
		return err
	})
	labels := writeLabels(b, keysOf("", podLabels(r, 300)))
	e := labels.directory[0]
	f, _ := parseLabelFrame(labels.p[e.off:], labels.salt, e.off)
	run("part=labels", storedPart{labels.p[e.off+labelHeaderSize : e.off+e.bytes()], int(f.raw)}, func(p []byte) error {
		_, err := parseKeys(p, int(f.streams))
		return err
	})
	totals := make([]StreamTotals, PartStreams)
	for i := range totals {
		totals[i] = StreamTotals{Rows: 1 + r.Int64N(100), Raw: r.Int64N(10_000), MinTime: r.Int64N(1 << 40), Seqs: 4}
		totals[i].MaxTime = totals[i].MinTime + r.Int64N(1<<30)
	}
	run("part=streams", store(appendStreams(nil, totals)), func(p []byte) error {
		_, err := parseStreams(p, PartStreams)
		return err
	})
	const rows = 1800
	ids := make([]ID, rows)
	for i := 1; i < rows; i++ {
		if ids[i] = ids[i-1].sameRecord(); r.IntN(10) == 0 {
			ids[i] = ID{Position: ids[i-1].Position + r.Uint64N(3)}
		}
	}
	list := runsOf(rows)
	positions := encodePositions(b, list, ids)
	var got []ID
	run("part=positions/rows=1800", storedPart{positions, len(positions)}, func(p []byte) (err error) {
		got, err = parsePositions(got[:0], p, list)
		return err
	})
}
