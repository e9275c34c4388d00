package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// The loss of segments is accepted in two steps, each durable before the next:
//
//	report  DIR/quarantine/missing-TIME.txt says what was given up
//	accept  a record of the log says that the positions are gone
//
// A crash between them leaves a store that misses the segments, and a report.
const missingN = "missing-" // begins the names of such reports

// acceptMissing makes the log expect the missing segments no longer.
func (r *repair) acceptMissing(ctx context.Context) error {
	// A repair may just have made a log that expects less.
	c, err := compareSegments(r.dir, r.path(logDir))
	if err = cmp.Or(err, c.unread); err == nil {
		err = r.step("report missing")
	}
	if err == nil {
		err = r.reportMissing()
	}
	if err == nil {
		err = r.step("accept")
	}
	if err != nil || len(c.missing) == 0 {
		return err
	}
	if r.lock != nil { // as the log takes it
		err := r.lock.Unlock()
		if r.lock = nil; err != nil {
			return err
		}
	}
	var gone []catalog.Holding
	for _, m := range c.missing {
		gone = append(gone, catalog.Holding{After: m.After, Upto: m.Upto})
	}
	keep := &logKeeper{dir: r.dir, tell: func(Event) {}, now: time.Now, cut: new(tornTotal)}
	l, err := wal.Open(r.path(logDir), wal.Options{
		Level: durability.Power, SegmentSize: newLogSegment, SaveTorn: keep.saveTorn, SetAside: keep.setAside,
	})
	if err != nil {
		return walError(err)
	}
	items := []stateItem{changeItem(gone, nil)}
	if !c.rosters { // so nothing is there to be changed
		var held []rosterEntry
		for _, h := range c.held {
			held = append(held, rosterEntry{Holding: h})
		}
		slices.SortFunc(held, func(a, b rosterEntry) int { return byPosition(a.Holding, b.Holding) })
		items = rosterItems(held)
	}
	for _, item := range items {
		if _, err = l.Append(ctx, encodeState(0, item)); err != nil {
			break
		}
	}
	return walError(errors.Join(err, l.Close()))
}

// reportMissing writes the report to quarantine.
func (r *repair) reportMissing() error {
	if err := r.makeDir(catalog.QuarantineDir); err != nil {
		return err
	}
	name := r.newName(missingN)
	var b strings.Builder
	fmt.Fprintf(&b, "accepted:    %s\n", r.now.UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, "given up:    %d segments, or parts of them, which the log expected and that were not there\n", len(r.plan.Missing))
	for _, m := range r.plan.Missing {
		fmt.Fprintf(&b, "  %s\n", strings.TrimPrefix(m.Error(), "logstore: "))
	}
	fmt.Fprintf(&b, "note:        a file that comes back to its place is served again\n")
	path := r.path(catalog.QuarantineDir, name+catalog.ReportSuffix)
	o := atomicfile.Options{Temp: "*.part"} // which package catalog removes after a crash
	if err := atomicfile.WriteFileWith(path, []byte(b.String()), 0o644, o); err != nil {
		return err
	}
	r.plan.Accepted = path
	return nil
}
