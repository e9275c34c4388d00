package segment

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

var (
	errRows  = errors.New("its rows are not those of the index")
	errBytes = errors.New("its bytes are not those of the index")
	errTimes = errors.New("its times are not those of the index, or not in order")
	errRuns  = errors.New("its list of runs and those of the streams differ")
)

// Verify reads all of the segment, verifies every checksum, decodes every
// block, and compares all redundant fields. bad, unless nil, is called with
// each damage, a *segment2.CorruptError; the error is the first of them, or an error
// that is no damage and ended Verify.
func (s *Segment) Verify(ctx context.Context, bad func(error)) error {
	v := verifier{s: s, bad: bad}
	if !s.scanned {
		if err := errors.Join(v.header(), v.index()); err != nil {
			return err
		}
	}
	t, err := s.load()
	if err != nil {
		return cmp.Or(v.first, err)
	}
	v.t = t
	listed, lost := 0, false
	for i := range t.streams {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := s.list(t, i)
		if err := v.report(err); err != nil {
			return err
		}
		lost = lost || err != nil
		v.lists = append(v.lists, list)
		listed += len(list)
	}
	for i := range t.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.block(i); err != nil {
			return err
		}
	}
	if !lost && v.first == nil && v.matched != listed {
		v.report(corrupt(s.src, s.footer.index, -1, "the lists of the streams have %d runs, and the blocks %d of them", listed, v.matched))
	}
	return v.first
}

// A verifier is a Verify under way.
type verifier struct {
	s     *Segment
	t     *tables
	bad   func(error)
	first error
	// lists are those of the streams, nil where one cannot be read.
	lists   [][]seqRun
	matched int // runs of blocks that stand in them

	frame, filter buffer
	runs          []blockRun
	decoder       block.Decoder
}

// report records damage. It returns errors that are no damage.
func (v *verifier) report(err error) error {
	if err == nil {
		return nil
	}
	if !isCorrupt(err) {
		return err
	}
	if v.first == nil {
		v.first = err
	}
	if v.bad != nil {
		v.bad(err)
	}
	return nil
}

func (v *verifier) header() error {
	p := make([]byte, headerSize)
	err := segment2.ReadFull(v.s.src, p, 0, -1)
	if err == nil {
		if _, salt, ok := parseHeader(p); !ok || salt != v.s.footer.salt {
			err = corrupt(v.s.src, 0, -1, "the header is not as it was written")
		}
	}
	return v.report(err)
}

// index reads the footer and the tables again, as those in use may be cached.
func (v *verifier) index() error {
	again, err := Open(v.s.src, v.s.footer.info.Size)
	if err == nil && again.footer != v.s.footer {
		err = corrupt(v.s.src, v.s.footer.info.Size-footerSize, -1, "the footer changed since the segment was opened")
	}
	return v.report(err)
}

func (v *verifier) block(i int) error {
	b, err := v.s.readFrame(&v.frame, v.runs, v.t, i)
	if err != nil {
		return v.report(err)
	}
	v.runs = b.runs
	if b.listErr == nil && !v.sameRuns(b.runs) {
		b.listErr = corrupt(v.s.src, v.t.blockEntry(i).off, i, "%v", errRuns)
	}
	if b.payloadErr == nil {
		runs := b.runs
		if b.listErr != nil {
			runs = nil
		}
		if err := checkRows(&v.decoder, b.payload, v.t.blockEntry(i), runs); err != nil {
			b.payloadErr = wrongContent(v.s.src, v.t.blockEntry(i), i, err)
		}
	}
	if err := errors.Join(v.report(b.listErr), v.report(b.payloadErr)); err != nil {
		return err
	}
	f, err := v.s.readFilter(&v.filter, v.t, i)
	if err == nil && f != nil {
		if why := filter.Check(f); why != nil {
			err = corrupt(v.s.src, v.t.blockEntry(i).filterOff+frameHeaderSize, i, "%v", why)
		}
	}
	return v.report(err)
}

// sameRuns reports whether the runs of a block are in the lists of their
// streams. A list that cannot be read has been reported.
func (v *verifier) sameRuns(runs []blockRun) bool {
	for _, r := range runs {
		i, ok := v.t.find(r.Labels)
		if !ok {
			return false
		}
		if v.lists[i] == nil {
			continue
		}
		at, ok := slices.BinarySearchFunc(v.lists[i], r.seq, func(l seqRun, seq uint64) int { return cmp.Compare(l.seq, seq) })
		if !ok || v.lists[i][at].Run != r.Run {
			return false
		}
		v.matched++
	}
	return true
}

// checkRows decodes a block and compares it with the index. If runs is nil only
// the totals are compared.
func checkRows(d *block.Decoder, p []byte, entry blockEntry, runs []blockRun) error {
	times, err := d.Decode(p, nil)
	if err != nil {
		return err
	}
	if d.Rows() != int(entry.rows) {
		return errRows
	}
	if runs == nil {
		runs = []blockRun{{Run: Run{Rows: d.Rows(), Raw: int64(entry.raw)}}}
	} else {
		for _, r := range runs {
			part := times[r.First : r.First+r.Rows]
			if part[0] != r.MinTime || part[r.Rows-1] != r.MaxTime || !slices.IsSorted(part) {
				return errTimes
			}
		}
	}
	for _, r := range runs {
		raw := int64(0)
		for i := r.First; i < r.First+r.Rows; i++ {
			raw += int64(len(d.Line(i)) + len(d.Meta(i)))
		}
		if raw != r.Raw {
			return errBytes
		}
	}
	return nil
}
