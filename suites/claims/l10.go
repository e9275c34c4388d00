package claims

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
	"github.com/stele-go/stele/wal"
)

// The variants of L10 that suite wal does not have.
const (
	l10Coded = "three levels, acknowledged in memory"
	l10Meant = "three levels, acknowledged when durable"
)

// l10Appenders are how many appenders there are.
var l10Appenders = []int{1, 64}

// l10 appends records of 1 KiB.
func l10(appenders int) lab.Experiment {
	e := wals.Experiment("L10", 1<<10)
	e.Suite = "claims"
	e.Params["appenders"] = strconv.Itoa(appenders)
	e.Question = "Do three levels of buffers join throughput with durability?"
	j := wals.Appending(e)
	j.Ways = append(l10Ways(), wals.Stele(wals.WayAppend, "group commit of package wal", wal.Options{}))
	return j.Build()
}

func l10Ways() []wals.Way {
	group := wals.GroupCommit()
	group.Doc, group.Baseline = "A: "+group.Doc, true
	return []wals.Way{
		group,
		threeLevelWay(l10Meant, "B as meant: Append returns when the record is synced, pages also after 5 ms", durability.Power, false),
		threeLevelWay(l10Coded, "B as coded: Append returns when the record is in the ring, in memory, and pages are synced only if 3 or more are full and the ring is empty", durability.None, true),
	}
}

// threeLevelWay is B, which acknowledges a record when it is durable or, at level None, when
// it is in memory. asCoded: pages never wait for a time.
func threeLevelWay(name, doc string, level durability.Level, asCoded bool) wals.Way {
	return wals.Way{
		Name: name, Doc: doc, Promise: job.Promise(level, durability.Prefix),
		Open: func(at job.Site) (wals.Log, error) {
			f, err := wals.NewFile(at.Dir, 0)
			if err != nil {
				return wals.Log{}, err
			}
			t := newThreeLevels(f, asCoded)
			return wals.Log{
				Append: func(rec []byte) error { return t.append(rec, level == durability.Power) },
				Close:  t.close,
			}, nil
		},
	}
}

func claimL10() Claim {
	return Claim{
		ID: "L10",
		Source: reportL.source("3.3",
			"Three buffer levels (a ring of 64 KB, pages of 4 KB, a queue of fsyncs) join throughput with durability."),
		Statement:   "plain group commit (A), against three buffer levels: 64 KiB ring in memory, ring of 4 KiB pages, sync queue that goes when at least 3 pages are full and the first is empty or after 5 ms, 8 at most (B)",
		Claimed:     "B joins throughput with durability",
		Promise:     "power, prefix by A and by B as meant; none by B as coded, where a record is acknowledged in memory",
		Experiments: append(experiments(l10, l10Appenders...), experiments(l10Cut, cutSystems...)...),
		judge:       judgeL10,
	}
}

// judgeL10 requires B to be as fast as A where B answers only durable records, and these to be
// there after a power cut.
func judgeL10(ev *evidence) judgement {
	var parts []part
	for _, n := range l10Appenders {
		id, condition := idOf(l10(n)), units.Count(n, "appender")
		parts = append(parts, least("throughput, B as meant against A", ev.speedup(id, l10Meant), 1-slack, factor).under(condition))
		tail, why := ev.tailRatio(id, l10Meant, wals.WayGroup)
		parts = append(parts, most("p99 of the answer, B as meant against A", tail, 1+slack, factor).under(condition).needs(why),
			figureOf("time of a record, "+condition, fmt.Sprintf("A %s, B as meant %s, B as coded %s (%s), package wal %s",
				nanos(ev.time(id, wals.WayGroup)), nanos(ev.time(id, l10Meant)), nanos(ev.time(id, l10Coded)), notSameJob, nanos(ev.time(id, wals.WayAppend)))))
	}
	for _, fs := range cutSystems {
		id := idOf(l10Cut(fs))
		const kept = "answered records are there after a power cut"
		if why := ev.failed(id); why != "" {
			parts = append(parts, lacking(kept, why).under(fs).main())
			continue
		}
		parts = append(parts, ev.keptAfterCuts(kept, id, l10Meant).under(fs).main(),
			ev.keptAfterCuts("the same, A", id, wals.WayGroup).under(fs).onlyShown(),
			ev.keptAfterCuts("the same, B as coded", id, l10Coded).under(fs).note(notSameJob).onlyShown())
	}
	return ruling("B as coded answers from memory and never syncs a record that is alone; it is not the same job.", parts...)
}

// keptAfterCuts returns the part that asks whether no power cut lost what was acknowledged.
func (ev *evidence) keptAfterCuts(what, id, variant string) part {
	lost, cuts := ev.metric(id, variant, cutsLost).Median, ev.metric(id, variant, cutsMade).Median
	if math.IsNaN(lost) || math.IsNaN(cuts) {
		return lacking(what, "").untestable()
	}
	return fact(what, lost == 0, fmt.Sprintf("%.0f of %.0f power cuts lost something", lost, cuts))
}

// The sizes of L10, as published except for l10Pages: with 16, eight pages can be filled
// while eight are synced.
const (
	l10Ring    = 64 << 10
	l10Page    = 4 << 10
	l10Pages   = 16
	l10Full    = 3 // full pages that are synced if the ring is empty
	l10Most    = 8 // full pages that are synced in any case, and the most at once
	l10Timeout = 5 * time.Millisecond
)

// threeLevels is a log with three levels of buffers. Records go into a ring in memory, one
// goroutine moves their bytes from there into pages, and another one writes and syncs pages.
// All offsets are in the file; synced <= moved <= added.
type threeLevels struct {
	f       *os.File
	asCoded bool // only full pages are synced, and only once the ring is empty
	sync    func(*os.File) error
	mu      sync.Mutex
	// ringed: bytes were added to the ring, or the log was closed; moves: bytes were moved
	// to the pages; syncs: pages were synced.
	ringed, moves, syncs sync.Cond

	ring  [l10Ring]byte // the bytes from moved to added are in use
	pages [l10Pages * l10Page]byte
	frame []byte

	added, moved, synced int64
	waits                time.Time // when the byte at synced came to the pages; zero if they are empty
	closed               bool
	err                  error // the first; after it nothing is synced
	ended                sync.WaitGroup
}

func newThreeLevels(f *os.File, asCoded bool) *threeLevels {
	t := &threeLevels{f: f, asCoded: asCoded, sync: sys.SyncData}
	t.ringed.L, t.moves.L, t.syncs.L = &t.mu, &t.mu, &t.mu
	t.ended.Go(t.mover)
	t.ended.Go(t.syncer)
	return t
}

// append adds a record to the ring. If durable, it waits until the record is synced.
func (t *threeLevels) append(rec []byte, durable bool) error {
	if wals.FrameHead+len(rec) > l10Ring {
		return fmt.Errorf("append a record: %d bytes; want %d or less", len(rec), l10Ring-wals.FrameHead)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil && t.added+int64(wals.FrameHead+len(rec))-t.moved > l10Ring {
		t.moves.Wait()
	}
	if t.err != nil {
		return t.err
	}
	t.frame = wals.AppendFrame(t.frame[:0], rec)
	putRing(t.ring[:], t.added, t.frame)
	t.added += int64(len(t.frame))
	end := t.added
	t.ringed.Signal()
	for durable && t.err == nil && t.synced < end {
		t.syncs.Wait()
	}
	return t.err
}

// putRing copies b into ring, to the place of offset off of the stream.
func putRing(ring []byte, off int64, b []byte) {
	for len(b) > 0 {
		n := copy(ring[off%int64(len(ring)):], b)
		b, off = b[n:], off+int64(n)
	}
}

// mover moves bytes from the ring into the pages, as many as fit.
func (t *threeLevels) mover() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		free := t.synced/l10Page*l10Page + l10Pages*l10Page - t.moved
		switch n := min(t.added-t.moved, free); {
		case t.err != nil || t.closed && t.added == t.moved:
			t.moves.Broadcast()
			return
		case n == 0 && free == 0:
			t.syncs.Wait()
		case n == 0:
			t.ringed.Wait()
		default:
			at := t.moved % l10Ring
			part := t.ring[at:min(at+n, l10Ring)]
			putRing(t.pages[:], t.moved, part)
			if t.waits.IsZero() {
				t.waits = time.Now()
				time.AfterFunc(l10Timeout, t.wake)
			}
			t.moved += int64(len(part))
			t.moves.Broadcast()
		}
	}
}

// wake makes the syncer check the time.
func (t *threeLevels) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moves.Broadcast()
}

// due returns the offset up to which the pages must be synced now.
func (t *threeLevels) due() int64 {
	first, full := t.synced/l10Page, t.moved/l10Page
	most := (first + l10Most) * l10Page
	switch {
	case t.moved == t.synced:
		return t.synced
	case t.asCoded && !t.closed && t.moved-t.synced < int64(len(t.pages)): // full pages without a place would wait for ever
		if full-first >= l10Full && t.added == t.moved {
			return min(full*l10Page, most)
		}
		return t.synced
	case t.closed && t.moved == t.added, time.Since(t.waits) >= l10Timeout:
		return min(t.moved, most)
	case full-first >= l10Most, full-first >= l10Full && t.added == t.moved:
		return min(full*l10Page, most)
	}
	return t.synced
}

// syncer writes and syncs the pages that are due.
func (t *threeLevels) syncer() {
	var buf []byte
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil {
		from, to := t.synced, t.due()
		if from == to {
			if t.closed && t.added == t.synced {
				return
			}
			t.moves.Wait()
			continue
		}
		buf = buf[:0]
		for off := from; off < to; {
			at := off % int64(len(t.pages))
			part := t.pages[at:min(at+to-off, int64(len(t.pages)))]
			buf, off = append(buf, part...), off+int64(len(part))
		}
		sync := t.sync
		t.mu.Unlock()
		_, err := t.f.WriteAt(buf, from)
		if err == nil {
			err = sync(t.f)
		}
		t.mu.Lock()
		if t.err = err; err == nil {
			t.synced = to
			t.waits = time.Time{}
			if t.moved > to {
				t.waits = time.Now()
				time.AfterFunc(l10Timeout, t.wake)
			}
		}
		t.syncs.Broadcast()
		t.ringed.Broadcast()
	}
	t.moves.Broadcast()
}

// close syncs all records.
func (t *threeLevels) close() error {
	t.mu.Lock()
	t.closed = true
	t.ringed.Broadcast()
	t.moves.Broadcast()
	t.syncs.Broadcast()
	t.mu.Unlock()
	t.ended.Wait()
	return errors.Join(t.err, t.f.Close())
}
