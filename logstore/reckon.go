package logstore

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// logContents is what Open knows of the log before it opens the segments.
type logContents struct {
	// expected are the segments that the log expects, by its roster and the changes
	// to it. whole is the position of that roster, 0 without one.
	expected  []rosterEntry
	whole     uint64
	lost      positionSet // given up by a repair
	deletions []*deletion
	first     uint64 // position of the first record, 0 without one
	begin     uint64 // where the log begins, by its META; 0: not known, see salvageContents
	last      uint64
	entries   uint64 // position of the last record with entries, 0 without one
	terms     logTerms
	follows   [][16]byte // other logs whose segments the roster has

	doubt catalog.Doubt // in which the last life ended

	items []stateItem // of the last record of state

	unread error // see provenance; of salvageContents
}

// readContents reads the log, which Open of the log has just read too: so it comes
// from the page cache, mostly, and is no more than a few memtables have. 21 MiB take 6
// ms. The segments cannot be opened, nor a query answered, before it is known what the
// log says of them; replay cannot begin before the segments say from where.
func (s *Store) readContents(ctx context.Context) (v logContents, err error) {
	first, next := s.log.Bounds()
	if first == next {
		return v, nil
	}
	for rec, err := range s.log.Records(ctx, first) {
		if err == nil {
			err = v.add(rec.Position, rec.Data)
		}
		if err != nil || rec.Position+1 >= next {
			return v, err
		}
	}
	return v, nil
}

// add adds a record.
func (v *logContents) add(pos uint64, data []byte) error {
	v.first, v.last = cmp.Or(v.first, pos), pos
	v.terms.next(pos)
	if len(data) < 2 || data[0] == 1 || data[1] != kindState {
		v.entries = pos // replay finds what is wrong with it
		return nil
	}
	r, h := recordReader{p: data}, recordHead{}
	_, err := r.head(&h)
	if err == nil {
		v.items, err = r.state(v.items[:0])
	}
	for i := 0; i < len(v.items) && err == nil; i++ {
		err = v.apply(pos, v.items[i])
	}
	if err != nil {
		return fmt.Errorf("position %d of the log: %w", pos, err)
	}
	return nil
}

func (v *logContents) apply(pos uint64, it stateItem) (err error) {
	r := recordReader{p: it.data}
	switch {
	case it.typ == stateRoster:
		v.expected, err = r.entries(nil)
		v.whole, v.follows = pos, nil
	case it.typ == stateRosterChange && v.whole != 0:
		v.expected, err = r.change(v.expected)
	case it.typ == stateDelete, it.typ == stateDeleteLines:
		var p *deletion
		if p, err = it.deletion(pos); err == nil {
			v.deletions = append(v.deletions, p)
		}
	case it.typ == stateCancel:
		var position uint64
		if position, err = it.cancelled(); err == nil {
			v.deletions = withoutCancelled(v.deletions, position)
		}
	case it.typ == stateLost:
		v.lost.add(pos)
		v.terms.forget(pos + 1)
	case it.typ == stateTerm, it.typ == stateTermGoesOn:
		var t term
		if t, err = it.term(); err != nil {
			break
		}
		if it.typ == stateTerm {
			v.terms.begin(pos, t.number())
		} else {
			v.terms.goesOn(t.number())
		}
	case it.typ == stateOtherLogs:
		v.follows, err = it.otherLogs()
	case it.typ == stateClock:
		v.doubt, err = it.doubt()
	}
	return err
}

// reckon compares the segments that Open has found with those that the log expects,
// tells which are missing, and remembers them.
func (s *Store) reckon(v logContents) {
	r := &s.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	r.whole = v.whole
	unreadable := s.catalog.Unreadable()
	held := append(s.catalog.Holdings(), unreadable...)
	notes := s.tellRepaired()
	if v.whole == 0 && s.o.recordVersion != 1 {
		v.expected = without(s.gaps(held), notes.lost())
	}
	s.tellOtherLogs(held)
	// Open has told why others are in quarantine.
	marks := marksIn(s.dir)
	r.marked, r.stale = len(marks) > 0, len(marks) > 0
	there := slices.Concat(held, r.setAside, marks, []catalog.Holding{{After: s.replay.first - 1, Upto: s.replay.last - 1}})
	missed := without(v.expected, there)
	missed = slices.DeleteFunc(missed, s.isExpired)
	news := s.tellMissing(missed)
	r.missing = missed
	for _, h := range unreadable {
		r.missing = append(r.missing, rosterEntry{Holding: h})
	}
	for _, e := range v.expected {
		r.upto = max(r.upto, e.Upto)
	}
	for _, e := range missed {
		held = append(held, e.Holding)
	}
	// The roster names the logs of other segments that are served.
	unnamed := slices.ContainsFunc(held, func(h catalog.Holding) bool {
		return isOtherLog(h.Log, s.log.ID()) && !slices.Contains(v.follows, h.Log)
	})
	if news || unnamed || r.marked || v.whole == 0 && len(held) > 0 || len(without(v.expected, held)) > 0 {
		// If it fails, the next seal writes it. A full disk must not keep a store from
		// being opened.
		s.bgErrors.set("telling the log what is missing", s.writeRoster())
	}
	s.dropNotes(notes)
}

// isExpired reports whether retention would have deleted the segment by now.
func (s *Store) isExpired(e rosterEntry) bool {
	now, _ := s.catalog.Time()
	last := e.MaxTime
	if e.isGap() {
		last = e.missing * int64(time.Second) // older than when it was found
		if e.missing == 0 {
			return false
		}
	}
	return s.o.Retention > 0 && last < now-int64(s.o.Retention)
}

// tellMissing tells what is missing, and reports whether some was not missing before.
func (s *Store) tellMissing(missed []rosterEntry) (news bool) {
	r := &s.roster
	for i := range missed {
		e := &missed[i]
		m := e.missingError(s.dir)
		ev := Event{
			Kind: EventMissing, File: m.File, After: m.After, Upto: m.Upto,
			MinTime: m.MinTime, MaxTime: m.MaxTime, Entries: m.Entries,
		}
		if e.isGap() {
			ev.Kind, ev.Reason = EventGap, gapReason
			r.gaps.Add(1)
		} else {
			r.segments.Add(1)
		}
		if e.missing != 0 {
			ev.Since = time.Unix(e.missing, 0)
		} else {
			news, e.missing = true, max(1, s.o.now().Unix())
		}
		r.positions.Add(int64(m.Upto - m.After))
		r.rows.Add(e.Rows)
		s.events.tell(ev)
	}
	return news
}

// tellOtherLogs tells which segments are of another log, an event for each log.
func (s *Store) tellOtherLogs(held []catalog.Holding) {
	own, none := s.log.ID(), [16]byte{}
	var events []Event
	of := map[[16]byte]int{}
	for _, h := range held {
		if h.Log == own || h.Log == none || own == none {
			continue
		}
		i, ok := of[h.Log]
		if !ok {
			i, of[h.Log] = len(events), len(events)
			events = append(events, Event{
				Kind: EventOtherLog, File: filepath.Join(s.dir, catalog.SegmentDir, h.Name()),
				Reason: fmt.Sprintf("they are of the log %x, this is %x", h.Log, own),
			})
		}
		events[i].Count++
		events[i].Entries += h.Rows
	}
	for _, e := range events {
		s.events.tell(e)
	}
}

// gaps returns the positions that neither a segment nor the log has. It is for a log
// without a roster, which cannot say whether retention has deleted them; those before the
// first segment it most likely has.
func (s *Store) gaps(held []catalog.Holding) []rosterEntry {
	first, _ := s.log.Bounds()
	return gapsIn(held, first, s.o.Retention == 0 && s.o.RetainBytes == 0)
}
