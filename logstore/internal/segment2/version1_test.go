package segment2_test

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

func init() { segment2.PackVersion1 = pack1 }

// memory1 is a file in memory.
type memory1 struct{ *bytes.Reader }

func (memory1) Name() string { return "one.seg" }

// pack1 makes a segment of version 1 as a store did: a stream has runs of at
// most maxRows rows, and a block at least maxRaw bytes.
func pack1(t testing.TB, entries []segment2.Entry1, info segment2.Info, maxRaw, maxRows int) (segment2.MergeSource, segment2.Index) {
	t.Helper()
	var out bytes.Buffer
	w := segment.NewWriter(&out)
	var e block.Encoder
	var f filter.Builder
	var runs []segment.StreamRun
	flush := func() {
		if e.Rows() == 0 {
			return
		}
		p, err := e.Append(nil)
		if err == nil {
			err = w.AddBlock(p, f.Append(nil), runs)
		}
		if err != nil {
			t.Fatal(err)
		}
		e.Reset()
		f.Reset()
		runs = nil
	}
	streams := map[string][]segment2.Entry1{}
	for _, one := range entries {
		streams[one.Labels] = append(streams[one.Labels], one)
	}
	for _, labels := range slices.Sorted(maps.Keys(streams)) {
		rows := streams[labels]
		slices.SortStableFunc(rows, func(a, b segment2.Entry1) int { return cmp.Compare(a.Time, b.Time) })
		for part := range slices.Chunk(rows, maxRows) {
			if len(runs) > 0 && (e.Raw() >= maxRaw || runs[len(runs)-1].Labels == labels) {
				flush()
			}
			first, raw := e.Rows(), e.Raw()
			for _, one := range part {
				e.Add(one.Time, []byte(one.Line), []byte(one.Meta))
				f.Add([]byte(one.Line))
			}
			runs = append(runs, segment.StreamRun{Labels: labels, Run: segment.Run{
				First: first, Rows: len(part), MinTime: part[0].Time, MaxTime: part[len(part)-1].Time, Raw: int64(e.Raw() - raw),
			}})
		}
	}
	flush()
	if _, err := w.Finish(segment.Info{After: info.After, Upto: info.Upto, Generation: info.Generation, Created: info.Created}); err != nil {
		t.Fatal(err)
	}
	s, err := segment.Open(memory1{bytes.NewReader(out.Bytes())}, int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return s.MergeSource(), s.Index(nil)
}
