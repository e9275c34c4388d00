package logstore

import (
	"fmt"
	"path/filepath"

	"github.com/stele-go/stele/logstore/internal/catalog"
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

// missingSegments returns the segments that the log in logs of the store in dir expects
// and that are not there, and the gaps between segments of a log without a roster, but
// for those before the first segment, which retention has deleted most likely. A process may have the store open: what it deletes meanwhile,
// its log no longer expects.
func missingSegments(dir, logs string) (list []*MissingError, err error) {
	var missed []rosterEntry
	for round := range 2 {
		v := salvageContents(logs)
		files, err := segmentFiles(dir)
		if err != nil {
			return nil, err
		}
		var held []catalog.Holding
		upto := uint64(0)
		for _, file := range files {
			if name, ok := catalog.ParseName(filepath.Base(file)); ok {
				held = append(held, catalog.Holding{After: name.After, Upto: name.Upto})
				upto = max(upto, name.Upto)
			}
		}
		if v.whole == 0 {
			v.expected = without(gapsIn(held, v.begin, false), readNotes(logs).lost())
		}
		if round == 0 {
			missed = v.expected
		} else {
			missed = inBoth(missed, v.expected)
		}
		held = append(held, marksIn(dir)...)
		if v.last > upto { // Open replays these
			held = append(held, catalog.Holding{After: max(v.first, upto+1) - 1, Upto: v.last})
		}
		if missed = without(missed, held); len(missed) == 0 {
			return nil, nil
		}
	}
	for _, e := range missed {
		list = append(list, e.missingError(dir))
	}
	return list, nil
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
	}
	return v
}
