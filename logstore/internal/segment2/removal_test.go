package segment2

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// someDrop draws which rows are gone.
func someDrop(r *rand.Rand) Drop {
	const first = 1_700_000_000_000 // of someRows
	d := Drop{Tenant: []string{"", "", "blue", "red"}[r.IntN(4)], To: math.MaxInt64, Before: AnyPosition}
	if r.IntN(2) == 0 {
		d.From, d.To = first+r.Int64N(40), first+10+r.Int64N(45)
	}
	if r.IntN(2) == 0 {
		d.Before = r.Uint64N(90)
	}
	switch r.IntN(4) {
	case 0:
		d.Conditions = []Condition{{Name: "app", Values: []string{"apia"}}}
	case 1:
		d.Conditions = []Condition{{Name: "host", Match: func(v string) bool { return v < "h-003" }, Not: r.IntN(2) == 0}}
	case 2:
		d.Conditions = []Condition{{Name: "app", Values: []string{"apib", "apic"}}, {Name: "host", Values: []string{""}, Not: true}}
	}
	return d
}

// someExpiry draws below which time the rows of tenants have expired.
func someExpiry(r *rand.Rand) map[string]int64 {
	before := map[string]int64{}
	for _, tenant := range []string{"", "blue", "red"} {
		if r.IntN(4) == 0 {
			before[tenant] = 1_700_000_000_000 + r.Int64N(60)
		}
	}
	return before
}

// drops reports whether a row of a segment is gone, slowly.
func (d *Drop) drops(info Info, e row) bool {
	if e.tenant != d.Tenant || e.time < d.From || e.time >= d.To || d.Before <= info.After+1 || d.Before <= info.Upto && e.id.Position >= d.Before {
		return false
	}
	labels := map[string]string{}
	eachLabel(e.labels, func(name, value, _ string) { labels[name[1:]] = value }) // its size is before it
	return !slices.ContainsFunc(d.Conditions, func(c Condition) bool { return !c.Meets(labels[c.Name]) })
}

// Merges of random segments leave out exactly the rows that are gone, and the streams
// that have no others.
func TestMergesLeaveOutWhatIsGone(t *testing.T) {
	lost, emptied := int64(0), 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		var drops []Drop
		for range 1 + r.IntN(3) {
			drops = append(drops, someDrop(r))
		}
		before := someExpiry(r)
		var expired func(TenantTotals) int64
		if len(before) > 0 {
			expired = func(t TenantTotals) int64 { return before[t.Tenant] }
		}
		var sources, left []mergeable
		o := MergeOptions{BlockRaw: 1 + r.IntN(8<<10), Generation: 5, Log: [16]byte{9}, Applied: 1 << 40}
		someEncoder(r, &o)
		var gone, rows int64
		for i := range 1 + r.IntN(4) {
			s := someSource(t, r, Info{After: uint64(10 * i), Upto: uint64(10*i + 1 + r.IntN(10))})
			removal, err := PlanRemoval(t.Context(), s, drops, expired, nil)
			if err != nil {
				t.Fatal(err)
			}
			info, had := s.Info(), s.Info().Rows
			stays := mergeable{rows: map[streamKey][]row{}}
			count := int64(0)
			for key, list := range s.rows {
				kept := slices.DeleteFunc(slices.Clone(list), func(e row) bool {
					return e.time < before[e.tenant] || slices.ContainsFunc(drops, func(d Drop) bool { return d.drops(info, e) })
				})
				if count += int64(len(list) - len(kept)); len(kept) > 0 {
					stays.rows[key] = kept
				} else if len(list) > 0 {
					emptied++
				}
			}
			if (removal == nil) != (count == 0) || removal != nil && removal.Rows != count {
				t.Fatalf("seed %d, source %d: %+v; want %d rows", seed, i, removal, count)
			}
			gone, rows = gone+count, rows+had
			sources, left = append(sources, s), append(left, stays)
			o.Removals = append(o.Removals, removal)
		}
		lost += gone
		if gone == rows {
			continue // such a merge is not made
		}
		p, info, err := tryMerge(t.Context(), sources, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if info.Rows != rows-gone || info.Applied != 1<<40 {
			t.Errorf("seed %d: %d rows, deletes applied below %d; want %d, %d", seed, info.Rows, info.Applied, rows-gone, uint64(1<<40))
		}
		m := mergeable2(t, p, joined(left))
		m.check(t, info)
	}
	if lost < 1000 || emptied < 100 {
		t.Errorf("only %d rows were left out, and %d streams: the test shows little", lost, emptied)
	}
}

// What has expired as a whole is found out without reading a block, and counted.
func TestExpiryReadsLittle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	k := pack(t, someRows(r, 4000, 40), Info{Upto: 9}, 4<<10, 100)
	src := &countedSource{memory{p: k.p}, map[int64]int{}}
	c, err := OpenCard(src, int64(len(k.p)))
	if err != nil {
		t.Fatal(err)
	}
	var blue TenantTotals
	expired := func(of TenantTotals) int64 {
		if of.Tenant != "blue" {
			return of.MinTime // none
		}
		blue = of
		return of.MaxTime + 1
	}
	removal, err := PlanRemoval(t.Context(), c.MergeSource(src), nil, expired, nil)
	if err != nil || removal == nil || removal.Rows != blue.Rows || removal.Expired != blue.Rows || int(removal.streams.GetCardinality()) != blue.Streams {
		t.Fatalf("%+v, %v; want all of %+v", removal, err, blue)
	}
	g, err := k.open(t, false).Group(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range k.blocks {
		if src.reads[g.Block(i).Offset] > 0 {
			t.Errorf("block %d was read", i)
		}
		of := removal.of(uint32(i))
		if blue := k.blocks[i].rows[0].tenant == "blue"; blue != (of != nil) || blue && !of.all {
			t.Errorf("block %d of tenant %q: %+v", i, k.blocks[i].rows[0].tenant, of)
		}
	}
}

// What is gone as a whole is found out without reading a block.
func TestRemovalReadsLittle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	k := pack(t, someRows(r, 4000, 40), Info{Upto: 9}, 4<<10, 100)
	src := &countedSource{memory{p: k.p}, map[int64]int{}}
	c, err := OpenCard(src, int64(len(k.p)))
	if err != nil {
		t.Fatal(err)
	}
	removal, err := PlanRemoval(context.Background(), c.MergeSource(src), []Drop{{To: math.MaxInt64, Before: AnyPosition}}, nil, nil)
	if err != nil || removal == nil {
		t.Fatal(removal, err)
	}
	g, err := k.open(t, false).Group(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range k.blocks {
		if src.reads[g.Block(i).Offset] > 0 {
			t.Errorf("block %d was read", i)
		}
		of := removal.of(uint32(i))
		if own := k.blocks[i].rows[0].tenant == ""; own != (of != nil) || own && !of.all {
			t.Errorf("block %d of tenant %q: %+v", i, k.blocks[i].rows[0].tenant, of)
		}
	}
	if removal, err = PlanRemoval(t.Context(), c.MergeSource(src), []Drop{{Tenant: "green", To: math.MaxInt64, Before: AnyPosition}}, nil, nil); removal != nil || err != nil {
		t.Errorf("of a tenant that is not there: %v, %v", removal, err)
	}
}
