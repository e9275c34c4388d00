package logstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// An EventKind says what has happened to a store.
type EventKind int

const (
	// EventDropped: Count events were not delivered, as Options.Events was slow.
	EventDropped EventKind = iota + 1

	// EventTornTail: Open has cut the end of the log, at Offset of a file of the
	// log, where Position would be next. Records were whole behind it: what they
	// held was acknowledged only if Options.Level was Kill, or if the disk has
	// damaged what it had. File is the copy in quarantine, "" if there was no
	// space for one, which is so only if Records is 0. OpenReadOnly cuts nothing: it
	// serves the whole records, and tells in File where they are in the log.
	EventTornTail
	// EventUnusedLog: a log file that was prepared and never used was damaged.
	// Nothing is lost. File is the copy in quarantine.
	EventUnusedLog
	// EventDiscarded: a file of the log in quarantine that has no whole record was
	// removed, as more than 64 such files, or 256 MiB, were there: the oldest one, of
	// Bytes. The one that was added last stays, and so does each with a whole record.
	EventDiscarded
	// EventLogDamage: OpenReadOnly went past damage of the log, at Offset of File.
	// Records may be missing there.
	EventLogDamage
	// EventLeftover: Open has removed a segment that a crash had left. Another one
	// has its entries.
	EventLeftover

	// EventMissing: a segment is not there, and nobody but a person or a damaged file
	// system can have removed it. Since is when Open first missed it, zero if that is
	// now: it is told by each Open until the file is back, or retention would have
	// deleted it.
	EventMissing
	// EventGap: neither a segment nor the log has these positions. Either the log did not
	// know whether they should be there: then it is told by each Open, as EventMissing is.
	// Or a repair has given them up, and a person has agreed: then the first Open after it
	// tells it, and later only the report in quarantine does. If the repair has given up
	// the end of the log, Position is where that began, and After and Upto are 0.
	EventGap
	// EventUndeleted: a repair has given up some of the log, and with it deletions that
	// were pending there: Count are known. What they deleted, and is still in a segment, is
	// found again: delete it again. Told by the first Open after the repair.
	EventUndeleted

	// EventOtherLog: Count segments, File among them, with Entries are of another log,
	// whose positions mean something else. They are served, and are never joined with
	// those of this log. Somebody has put them there, or this log was made anew.
	// OpenReadOnly also tells so of each that it does not serve, where Open would move
	// it to quarantine, and of the log in File if Open would refuse the store, as it is
	// not the log of the segments.
	EventOtherLog

	// EventDamage: a segment was found damaged, at Offset. Intact blocks of it are
	// served.
	EventDamage
	// EventSalvage: the intact blocks of a damaged segment are a segment again, and
	// Entries were lost.
	EventSalvage
	// EventQuarantine: a segment was moved to File in quarantine: it was damaged, or it is
	// not of this log.
	EventQuarantine
	// EventRetired: a segment was deleted by Options.Retention or RetainBytes, or as all
	// in it had expired by TenantOptions.Retention.
	EventRetired

	// EventLowSpace: appends are refused (ErrLowSpace) from now on. Bytes are free.
	EventLowSpace
	// EventSpace: appends are accepted again. Bytes are free.
	EventSpace
	// EventClockAhead: the clock is Ahead of the time by which entries are deleted,
	// see Options.Retention. It is told only where there is a Retention, or
	// Options.Tenants.
	EventClockAhead
	// EventClock: the clock is trusted again.
	EventClock
	// EventFailed: the log takes no more records until the store is opened again
	// (ErrFailed).
	EventFailed
)

var eventNames = [...]string{
	EventDropped: "dropped", EventTornTail: "torn tail", EventUnusedLog: "unused log file", EventDiscarded: "discarded from quarantine", EventLogDamage: "log damage", EventLeftover: "leftover",
	EventMissing: "missing segment", EventGap: "gap", EventUndeleted: "deletions given up", EventOtherLog: "segments of another log",
	EventDamage: "damage", EventSalvage: "salvage", EventQuarantine: "quarantine", EventRetired: "retired",
	EventLowSpace: "low space", EventSpace: "space", EventClockAhead: "clock ahead", EventClock: "clock", EventFailed: "failed",
}

// String returns a name such as "torn tail".
func (k EventKind) String() string {
	if k > 0 && int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("EventKind(%d)", int(k))
}

// An Event tells what has happened to a store. The comment of its Kind says which
// fields it has; the others are zero.
type Event struct {
	Kind EventKind
	Time time.Time // by Options.Clock

	File   string // path
	Offset int64  // bytes
	Bytes  int64  // of what it is about: a segment, or what was cut
	// Reason says in words why, if there is more to say.
	Reason string

	// The positions (After, Upto] of the log that a segment holds, the times of its
	// first and last entry, and how many it has: -1 if that is not known.
	After, Upto      uint64
	MinTime, MaxTime int64
	Entries          int64

	Since    time.Time
	Position uint64 // of the log
	Records  int
	Ahead    time.Duration
	Count    int64
}

// String returns the event as one line, without its time.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	part := func(show bool, format string, args ...any) {
		if show {
			fmt.Fprintf(&b, format, args...)
		}
	}
	part(e.File != "", ": %s", e.File)
	part(e.Offset != 0, ", offset %d", e.Offset)
	part(e.Upto != 0, ", positions %d to %d", e.After+1, e.Upto)
	part(e.Position != 0, ", position %d", e.Position)
	part(e.Records != 0, ", %d whole records", e.Records)
	part(e.Entries > 0, ", %d entries", e.Entries)
	part(e.Entries < 0, ", an unknown number of entries")
	part(e.MaxTime != 0, " from %s to %s", stamp(e.MinTime), stamp(e.MaxTime))
	part(e.Bytes != 0, ", %d bytes", e.Bytes)
	part(e.Ahead != 0, ", %v ahead", e.Ahead)
	part(e.Count != 0 && e.Kind == EventDropped, ", %d events", e.Count)
	part(e.Count != 0 && e.Kind == EventUndeleted, ", %d known", e.Count)
	part(e.Count != 0 && e.Kind != EventDropped && e.Kind != EventUndeleted, ", one of %d", e.Count)
	part(!e.Since.IsZero(), ", since %s", e.Since.UTC().Format(time.RFC3339))
	part(e.Reason != "", ": %s", e.Reason)
	return b.String()
}

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

// segmentEvents has the kinds of events of package catalog.
var segmentEvents = map[catalog.EventKind]EventKind{
	catalog.Damaged: EventDamage, catalog.Salvaged: EventSalvage, catalog.Quarantined: EventQuarantine,
	catalog.Retired: EventRetired, catalog.Leftover: EventLeftover, catalog.Foreign: EventOtherLog,
}

// tellSegment tells what has happened to a segment. It returns at once.
func (s *Store) tellSegment(e catalog.Event) {
	s.events.tell(Event{
		Kind: segmentEvents[e.Kind], File: e.File, Offset: e.Offset, Bytes: e.Size, Reason: e.Reason,
		After: e.After, Upto: e.Upto, MinTime: e.MinTime, MaxTime: e.MaxTime, Entries: e.Rows,
	})
}

// tellSpace tells that appends are refused for lack of space, or no longer are.
func (s *Store) tellSpace(low bool, free int64) {
	kind := EventSpace
	if low {
		kind = EventLowSpace
	}
	s.events.tell(Event{Kind: kind, Bytes: free})
}

// A clockWatch tells when the clock is doubted, and when it is trusted again.
type clockWatch struct{ doubted bool }

func (w *clockWatch) look(s *Store) {
	if !s.o.retains() {
		return
	}
	_, ahead := s.catalog.Time()
	if doubted := ahead != 0; doubted != w.doubted {
		w.doubted = doubted
		kind := EventClock
		if doubted {
			kind = EventClockAhead
		}
		s.events.tell(Event{Kind: kind, Ahead: ahead})
	}
}

// A Report is what Open found that was not as the store had left it. See
// Store.Report.
type Report struct {
	// Events are those of Open, in order: at most 10,000. More is how many there
	// were beyond.
	Events []Event
	More   int
}

// maxReport is how many events a Report has at most.
const maxReport = 10_000

// String returns a line for each event.
func (r Report) String() string {
	var b strings.Builder
	for _, e := range r.Events {
		fmt.Fprintln(&b, e)
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", r.More)
	}
	return b.String()
}

// Report returns what Open found: torn tails, missing and damaged segments,
// leftovers of a crash. It is empty if all was as the store had left it. The same events went to
// Options.Events. Later damage is told there only, and counted in Stats.
func (s *Store) Report() Report {
	if s.log == nil {
		return Report{}
	}
	return s.events.opened()
}
