package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/wal"
)

// A MissingError reports a segment that the log says should be there, or positions
// of it that no segment has.
type MissingError struct {
	// File is its path. It is "" if nobody knows of a segment: neither a segment nor the log
	// has the positions, and the log does not say, or did not when Open found out, whether
	// retention has deleted them. Then MinTime and MaxTime are 0.
	File string
	// The positions (After, Upto] of the log, the first and the last time of the
	// segment, and how many entries are missing: -1 if that is not known.
	After, Upto      uint64
	MinTime, MaxTime int64
	Entries          int64
}

func (e *MissingError) Error() string {
	entries := "an unknown number of entries"
	if e.Entries >= 0 {
		entries = fmt.Sprint(e.Entries, " entries")
	}
	if e.File == "" {
		return fmt.Sprintf("logstore: a segment is missing: neither a segment nor the log has positions %d to %d of the log; %s", e.After+1, e.Upto, gapReason)
	}
	return fmt.Sprintf("logstore: %s is missing: positions %d to %d of the log, %s from %s to %s",
		e.File, e.After+1, e.Upto, entries, stamp(e.MinTime), stamp(e.MaxTime))
}

// missingError returns the error for an entry of the roster of the store in dir.
func (e *rosterEntry) missingError(dir string) *MissingError {
	m := &MissingError{
		File:  filepath.Join(dir, catalog.SegmentDir, e.Name()),
		After: e.After, Upto: e.Upto, MinTime: e.MinTime, MaxTime: e.MaxTime, Entries: e.Rows,
	}
	if e.Rows == 0 {
		m.Entries = -1
	}
	if e.isGap() {
		m.File = ""
	}
	return m
}

// An OtherLogError reports a segment that is not of the log of the store: it is another
// store's, or of a copy of this one that went on apart.
type OtherLogError struct {
	File string // its path
	// The positions (After, Upto] of its own log, and its entries.
	After, Upto uint64
	Entries     int64
	// Served reports that the store serves it all the same, as it can be in the way of
	// nothing. Else Open moves it to quarantine, or refuses the store.
	Served bool
	Reason string
	// Quarantine is where Repair has moved it, "" before.
	Quarantine string
}

func (e *OtherLogError) Error() string {
	served := "it is served"
	if !e.Served {
		served = "it is not served"
	}
	return fmt.Sprintf("logstore: %s, with %d entries: %s; %s", e.File, e.Entries, e.Reason, served)
}

// otherLogError returns the error for a segment of the store in dir.
func (p *provenance) otherLogError(file string, h catalog.Holding, v catalog.Verdict) *OtherLogError {
	e := &OtherLogError{File: file, After: h.After, Upto: h.Upto, Entries: h.Rows, Served: v.Aside == "", Reason: v.Aside}
	if e.Served {
		e.Reason = fmt.Sprintf("it is of the log %x, this is %x", h.Log, p.log)
	}
	return e
}

// A comparison is that of a log with the segments beside it.
type comparison struct {
	missing []*MissingError
	others  []*OtherLogError
	refused error // why Open refuses the store, nil if it does not for that
	held    []catalog.Holding
	rosters bool  // the log has a roster
	unread  error // see provenance
}

// compareSegments compares the log in logs of the store in dir with the segments. Of a log
// without a roster it tells the gaps between segments, but for those before the first one,
// which retention has deleted most likely. A process may have the store open: what it
// deletes meanwhile, its log no longer expects.
func compareSegments(dir, logs string) (c comparison, err error) {
	var missed []rosterEntry
	var unread error
	for round := range 2 {
		p := logOf(dir, logs)
		unread = cmp.Or(unread, p.unread)
		files, err := segmentFiles(dir)
		if err != nil {
			return comparison{}, err
		}
		var held []catalog.Holding
		var upto uint64
		held, upto, c = p.compare(files)
		c.held, c.rosters, c.unread = held, p.whole != 0, unread
		if p.whole == 0 {
			p.expected = without(gapsIn(held, p.begin, false), readNotes(logs).lost())
		}
		if round == 0 {
			missed = p.expected
		} else {
			missed = inBoth(missed, p.expected)
		}
		held = append(held, marksIn(dir)...)
		if p.next > max(p.first, upto+1) { // Open replays these
			held = append(held, catalog.Holding{After: max(p.first, upto+1) - 1, Upto: p.next - 1})
		}
		if missed = without(missed, held); len(missed) == 0 {
			return c, nil
		}
	}
	for _, e := range missed {
		c.missing = append(c.missing, e.missingError(dir))
	}
	return c, nil
}

// compare returns the segments that the roster may expect, the highest position of the
// log that they have, and those that are not of the log.
func (p *provenance) compare(files []string) (held []catalog.Holding, upto uint64, c comparison) {
	var found []catalog.Holding
	var paths []string
	for _, file := range files {
		name, ok := catalog.ParseName(filepath.Base(file))
		if !ok {
			continue // as Open does
		}
		info, err := readInfo(file)
		switch {
		case errors.Is(err, fs.ErrNotExist): // compacted or retired meanwhile
			continue
		case err != nil: // Verify tells
			info = segment2.Info{}
		case info.After != name.After || info.Upto != name.Upto || info.Generation != name.Generation:
			why := "its content belongs under the name " + catalog.HoldingOf(info.After, info.Upto, info.Generation, info).Name()
			if isOtherLog(info.Log, p.log) {
				why += fmt.Sprintf(", and it is of the log %x, not of %x", info.Log, p.log)
			}
			if !isOtherLog(info.Log, p.log) && info.After == name.After && info.Upto == name.Upto {
				held = append(held, catalog.Holding{After: name.After, Upto: name.Upto})
				continue
			}
			c.others = append(c.others, &OtherLogError{File: file, After: info.After, Upto: info.Upto, Entries: info.Rows, Reason: why})
			continue
		}
		found, paths = append(found, catalog.HoldingOf(name.After, name.Upto, name.Generation, info)), append(paths, file)
	}
	verdicts, refused := p.judge(found)
	c.refused = refused
	for i, h := range found {
		v := verdicts[i]
		if v.Other {
			c.others = append(c.others, p.otherLogError(paths[i], h, v))
		} else {
			upto = max(upto, h.Upto)
		}
		if v.Aside == "" && p.covers(h) {
			held = append(held, h)
		}
	}
	return held, upto, c
}

// readInfo reads what the end of a segment says.
func readInfo(file string) (segment2.Info, error) {
	f, err := fileio.Open(file, fileio.Options{Way: fileio.Buffered})
	if err != nil {
		return segment2.Info{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return segment2.Info{}, err
	}
	card, err := segment2.OpenCard(f, size)
	if err == nil {
		return card.Info(), nil
	}
	if !isVersion1(err) {
		return segment2.Info{}, err
	}
	s, err := segment.Open(f, size)
	if err != nil {
		return segment2.Info{}, err
	}
	defer s.Close()
	return s.Info(), nil
}

// inBoth returns the entries with the positions that are in both lists.
func inBoth(a, b []rosterEntry) []rosterEntry {
	var in []catalog.Holding
	for _, e := range b {
		in = append(in, e.Holding)
	}
	var outside []catalog.Holding
	for _, e := range without(a, in) {
		outside = append(outside, e.Holding)
	}
	return without(a, outside)
}

// salvageContents reads what is intact of the log in dir, which may be open.
func salvageContents(dir string) (v logContents) {
	in, err := wal.Inspect(dir)
	if err != nil {
		v.unread = unreadLog(err)
		return v
	}
	if in.MetaErr == nil {
		v.begin = uint64(in.First)
	}
	for rec, err := range in.Salvage(0) {
		if err == nil && rec.Type == dataRecord {
			// A record that does not parse expects nothing.
			_ = v.add(uint64(rec.Position), rec.Data)
		}
		v.unread = cmp.Or(v.unread, unreadLog(err))
	}
	return v
}

// unreadLog returns err if a part of a log was not read for another reason than that it
// is damaged or not there.
func unreadLog(err error) error {
	if _, ok := errors.AsType[*wal.CorruptError](err); ok || errors.Is(err, fs.ErrNotExist) || errors.Is(err, wal.ErrTruncated) {
		return nil
	}
	return err
}
