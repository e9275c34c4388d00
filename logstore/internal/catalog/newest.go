package catalog

import (
	"context"
	"errors"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Newest returns the time of the newest entry of a stream in the segments that
// have entries later than above; ok is false if these have none of it. It reads
// nothing if no segment has such entries. Else it reads the index of the segments
// that may have the stream, the newest first, through the cache. What damage hides
// is left out; the error is that of the disk, or of the context.
func (n *Snapshot) Newest(ctx context.Context, tenant, labels string, above int64) (newest int64, ok bool, err error) {
	for _, f := range n.v.byTime {
		if f.info.MaxTime <= above || ok && f.info.MaxTime <= newest {
			break
		}
		s := Segment{catalog: n.catalog, file: f}
		if !s.MaySelect(tenant, nil) {
			continue
		}
		t, there, err := s.newest(ctx, tenant, labels)
		if err != nil {
			return 0, false, err
		}
		if there && (!ok || t > newest) {
			newest, ok = t, true
		}
	}
	return newest, ok, nil
}

// newest returns the time of the newest entry of a stream in the segment.
func (s Segment) newest(ctx context.Context, tenant, labels string) (newest int64, ok bool, err error) {
	ordinal, ok, err := s.Find(ctx, tenant, labels)
	if err := notDamage(err); err != nil || !ok {
		return 0, false, err
	}
	p, err := s.Streams(ctx, int(ordinal/segment2.PartStreams))
	if err := notDamage(err); err != nil {
		return 0, false, err
	}
	if p != nil {
		if t := &p.Streams[ordinal-p.First]; t.Rows > 0 {
			return t.MaxTime, true, nil
		}
	}
	return s.newestRun(ctx, ordinal)
}

// newestRun returns the time of the last entry of the runs of a stream.
func (s Segment) newestRun(ctx context.Context, ordinal uint32) (newest int64, ok bool, err error) {
	zones, err := s.Zones(ctx)
	if err := notDamage(err); err != nil {
		return 0, false, err
	}
	for i := range zones {
		z := &zones[i]
		if ordinal < z.Low || ordinal > z.High || ok && z.MaxTime <= newest {
			continue
		}
		runs, err := s.Runs(ctx, i)
		if err := notDamage(err); err != nil {
			return 0, false, err
		}
		for j := range runs {
			if r := &runs[j]; r.Ordinal == ordinal && (!ok || r.MaxTime > newest) {
				newest, ok = r.MaxTime, true
			}
		}
	}
	return newest, ok, nil
}

// notDamage returns the error unless it is damage.
func notDamage(err error) error {
	if _, ok := errors.AsType[*segment2.CorruptError](err); ok {
		return nil
	}
	return err
}
