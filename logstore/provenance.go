package logstore

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A provenance is what a log says of which segments are its own. Open, OpenReadOnly,
// Verify and Repair all judge by it.
//
// A segment is the log's own if it names the log by its ID, and tells the same term as
// the log wherever both tell one. The ID tells another store's files; the term tells
// files of a copy that went on apart, and an old log that was put back: a log that a
// repair made has the ID of the old one, because that is what cursors, batches and
// imports know the store by, and may give its positions to other records, in another
// term. A segment that does not say its log (version 1), or whose index is damaged,
// counts as the log's own.
//
// Any other segment takes the place of nothing: of no record of the log, of no segment,
// of no entry of the roster. It is served only where it cannot: below the log, below
// all of the log's own segments, and beside what the roster expects. From then on the
// roster names its log (follows). Else it is set aside.
//
// If all segments are of other logs, and the log does not say that it follows those, it
// is not the log of the segments. If terms differ, one of log and segment is an old copy,
// or of another copy. Nobody but a person can tell which is right, so then Open refuses.
type provenance struct {
	dir         string // of the store
	log         [16]byte
	first, next uint64 // positions of the log: [first, next)
	terms       logTerms
	expected    []rosterEntry
	whole       uint64 // position of its last whole roster, 0 without one
	begin       uint64 // see logContents
	follows     [][16]byte
	empty       bool // the log has nothing that counts: no entry, and nothing that it expects
	// unread is why a part of the log could not be read that may be sound, or nil: then the
	// log may say more. It is nil for damage, as what is left is all that the log says.
	unread error
}

// provenance returns what the log of the store in dir, with these contents, says.
func (v *logContents) provenance(dir string, id [16]byte, first, next uint64) *provenance {
	return &provenance{
		dir: dir, log: id, first: first, next: next, terms: v.terms, follows: v.follows, whole: v.whole, begin: v.begin,
		expected: slices.SortedFunc(slices.Values(v.expected), func(a, b rosterEntry) int { return byPosition(a.Holding, b.Holding) }),
		empty:    v.entries == 0 && len(v.expected) == 0 && len(v.deletions) == 0,
		unread:   v.unread,
	}
}

// isOther reports whether a segment is of another log, which both must say.
func (p *provenance) isOther(h catalog.Holding) bool { return isOtherLog(h.Log, p.log) }

func isOtherLog(a, b [16]byte) bool { return a != b && a != [16]byte{} && b != [16]byte{} }

// covers reports whether a segment is one that the roster may expect.
func (p *provenance) covers(h catalog.Holding) bool {
	return !p.isOther(h) || slices.Contains(p.follows, h.Log)
}

// judge returns a verdict for each segment, and why Open refuses the store, or nil.
func (p *provenance) judge(found []catalog.Holding) (verdicts []catalog.Verdict, refused error) {
	verdicts = make([]catalog.Verdict, len(found))
	var strangers []int
	refused = cmp.Or(p.findDiverged(found, verdicts), p.findUnlisted(found, verdicts))
	own, lowest := 0, p.first
	for i, h := range found {
		switch {
		case p.isOther(h):
			verdicts[i].Other = true
			if !slices.Contains(p.follows, h.Log) {
				strangers = append(strangers, i)
			}
		case verdicts[i].Aside == "":
			own++
			lowest = min(lowest, h.After+1)
		}
	}
	if own == 0 && len(strangers) > 0 {
		h := found[strangers[0]]
		refused = cmp.Or(refused, p.notItsLog(h, len(strangers)))
		if p.empty { // so it has nothing that a segment could take the place of
			clear(verdicts)
			return verdicts, refused
		}
	}
	expected := positionsOf(p.holdings())
	for i, h := range found {
		v := &verdicts[i]
		if !v.Other || v.Aside != "" {
			continue
		}
		limit, at := lowest, expected
		if own == 0 || slices.Contains(p.follows, h.Log) {
			limit, at = p.first, nil
		}
		if all := (PositionRange{h.After + 1, h.Upto}); h.Upto >= limit || at.without(all).count() < h.Upto-h.After {
			v.Aside = fmt.Sprintf("it is of the log %x, whose positions are not those of this one, %x", h.Log, p.log)
		}
	}
	return verdicts, refused
}

// holdings returns the segments that the roster expects.
func (p *provenance) holdings() (list []catalog.Holding) {
	for _, e := range p.expected {
		list = append(list, e.Holding)
	}
	return list
}

// findDiverged sets the verdicts of the segments of this log whose terms are not those
// of the log, and returns the error of Open, or nil.
func (p *provenance) findDiverged(found []catalog.Holding, verdicts []catalog.Verdict) (refused error) {
	terms := p.terms.with(p.first, found, p.isOther)
	for i, h := range found {
		if p.isOther(h) {
			continue
		}
		for _, at := range []struct{ pos, term uint64 }{{h.After, h.TermBefore}, {h.Upto, h.Term}} {
			if t := terms.at(at.pos); at.pos < p.next && t != 0 && at.term != 0 && t != at.term && verdicts[i].Aside == "" {
				verdicts[i] = catalog.Verdict{Other: true, Aside: fmt.Sprintf(
					"at position %d it is of the term %016x, and the log of %016x: it is of a copy of the store that went on apart, or the log is an old copy", at.pos, at.term, t)}
				refused = cmp.Or(refused, p.diverged(h, at.pos))
			}
		}
	}
	return refused
}

// findUnlisted sets the verdicts of the segments that cannot be of the history that the
// roster tells, though they name this log: so they are of a copy that went on apart. If
// the segments of the roster are there beside them, they are strays. Else the log may be
// that of the copy, and Open returns the error.
func (p *provenance) findUnlisted(found []catalog.Holding, verdicts []catalog.Verdict) (refused error) {
	for i, h := range found {
		if p.isOther(h) || verdicts[i].Aside != "" {
			continue
		}
		from, _ := slices.BinarySearchFunc(p.expected, h.After+1, func(e rosterEntry, pos uint64) int { return cmp.Compare(e.Upto, pos) })
		for _, e := range p.expected[from:] {
			if e.After >= h.Upto {
				break
			}
			if !e.excludes(h) {
				continue
			}
			verdicts[i] = catalog.Verdict{Other: true, Aside: "by the log there is " + e.Name() + ", from which it was not made, nor that from it: it is of a copy of the store that went on apart"}
			there := slices.ContainsFunc(found, func(o catalog.Holding) bool {
				return !p.isOther(o) && o.After <= e.After && e.Upto <= o.Upto && !e.excludes(o)
			})
			if !there {
				refused = cmp.Or(refused, p.unlisted(h, e))
			}
			break
		}
	}
	return refused
}

// excludes reports whether a store that has the segment of the entry cannot have had h,
// as positions of both are the same and neither was made from the other: compactions
// join whole segments, and have a higher generation.
func (e *rosterEntry) excludes(h catalog.Holding) bool {
	if e.Rows == 0 || h.Rows == 0 || e.Upto <= h.After || h.Upto <= e.After {
		return false // a part of an entry, or damaged, or other positions
	}
	within, around := e.After <= h.After && h.Upto <= e.Upto, h.After <= e.After && e.Upto <= h.Upto
	switch {
	case within && around:
		return h.Generation == e.Generation && (h.Rows != e.Rows || h.MinTime != e.MinTime || h.MaxTime != e.MaxTime)
	case within:
		return h.Generation >= e.Generation
	case around:
		return h.Generation <= e.Generation
	}
	return true
}

const orSetAside = "stele repair keeps the log and sets the segments aside; to keep the segments instead, move the log away before"

func (p *provenance) logDir() string { return filepath.Join(p.dir, logDir) }

func (p *provenance) path(h catalog.Holding) string {
	return filepath.Join(p.dir, catalog.SegmentDir, h.Name())
}

// notItsLog is the error of Open where all segments are of other logs.
func (p *provenance) notItsLog(h catalog.Holding, n int) error {
	segments := p.path(h) + " is"
	if n > 1 {
		segments = fmt.Sprintf("%s and %d more are", p.path(h), n-1)
	}
	return fmt.Errorf("%s is not the log of these segments: its ID is %x, and %s of the log %x; nothing was changed; bring back the right directory; %s",
		p.logDir(), p.log, segments, h.Log, orSetAside)
}

// diverged is the error of Open where a term of a segment is not that of the log.
func (p *provenance) diverged(h catalog.Holding, pos uint64) error {
	return fmt.Errorf("%s is not the log that %s was sealed from, though it has the same ID: they differ in the term of position %d; the log is an old copy, or the segment is of a copy of the store that went on apart; nothing was changed; bring back the right directory, or move the segment away; %s",
		p.logDir(), p.path(h), pos, orSetAside)
}

// unlisted is the error of Open where a segment is not of the history of the log.
func (p *provenance) unlisted(h catalog.Holding, e rosterEntry) error {
	return fmt.Errorf("%s is not the log that %s was sealed from, though it has the same ID: it expects %s with %d entries in its place; the log is that of a copy of the store that went on apart, or the segment is; nothing was changed; bring back the right directory, or move the segment away; %s",
		p.logDir(), p.path(h), e.Name(), e.Rows, orSetAside)
}

// otherLogs returns the item, if any, that names the logs of segments that are not of
// the log own.
func otherLogs(own [16]byte, held []catalog.Holding) []stateItem {
	var data []byte
	seen := map[[16]byte]bool{own: true}
	for _, h := range held {
		if isOtherLog(h.Log, own) && !seen[h.Log] {
			seen[h.Log] = true
			data = append(data, h.Log[:]...)
		}
	}
	if data == nil {
		return nil
	}
	return []stateItem{{stateOtherLogs, data}}
}

// otherLogs decodes the item.
func (it stateItem) otherLogs() (list [][16]byte, err error) {
	if len(it.data)%16 != 0 {
		return nil, fmt.Errorf("%w: %d bytes of IDs of logs; want a multiple of 16", errRecord, len(it.data))
	}
	for id := range slices.Chunk(it.data, 16) {
		list = append(list, [16]byte(id))
	}
	return list, nil
}
