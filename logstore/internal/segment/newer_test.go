package segment

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/block"
)

// A block of a version that this program does not know is no damage: Verify names it, and
// Salvage and Merge copy its bytes, or refuse, but never drop it.
func TestBlockOfANewerVersion(t *testing.T) {
	ctx := context.Background()
	info := Info{After: 1, Upto: 2}
	s := open(t, pack(t, someEntries(rand.New(rand.NewPCG(1, 2)), 5000, 5), info, 4000, 50))
	tables, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	// The same segment, with another version in the first byte of block 3.
	const newer = 3
	var out bytes.Buffer
	w := NewWriter(&out)
	var content []byte
	for i := range tables.count {
		var frame, filter buffer
		b, err := s.readFrame(&frame, nil, tables, i)
		if err = errors.Join(err, b.payloadErr, b.listErr); err != nil {
			t.Fatal(err)
		}
		if i == newer {
			b.payload[0] = 9
			content = bytes.Clone(b.payload)
		}
		f, err := s.readFilter(&filter, tables, i)
		if err == nil {
			err = w.add(b.payload, f, b.runs)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(info); err != nil {
		t.Fatal(err)
	}
	s = open(t, out.Bytes())
	isNewer := func(what string, err error) {
		t.Helper()
		v, ok := errors.AsType[*block.VersionError](err)
		if !ok || v.Version != 9 || isCorrupt(err) || !strings.Contains(err.Error(), "a.seg: block 3") {
			t.Errorf("%s: %v", what, err)
		}
	}
	isNewer("Verify", s.Verify(ctx, func(bad error) { t.Errorf("Verify reports damage: %v", bad) }))

	var kept bytes.Buffer
	got, lost, err := Salvage(ctx, &kept, s, MergeOptions{})
	if err != nil || len(lost) > 0 || got.Rows != s.Info().Rows {
		t.Fatalf("Salvage: %d of %d rows, lost %v, %v", got.Rows, s.Info().Rows, lost, err)
	}
	if p, err := open(t, kept.Bytes()).ReadBlock(nil, newer); err != nil || !bytes.Equal(p, content) {
		t.Errorf("Salvage has changed the block: %v", err)
	}
	var merged bytes.Buffer
	if _, err := Merge(ctx, &merged, []*Segment{s}, MergeOptions{BlockRaw: 2000}); err != nil {
		t.Errorf("Merge that copies the block: %v", err)
	} else if !bytes.Contains(merged.Bytes(), content) {
		t.Error("Merge has not copied the block")
	}
	_, err = Merge(ctx, &merged, []*Segment{s}, MergeOptions{BlockRaw: 1 << 20})
	isNewer("Merge that joins the block with others", err)
}
