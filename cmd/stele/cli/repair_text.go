package cli

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/logstore"
)

// repairText prints a plan for people.
func repairText(p *logstore.RepairPlan, o logstore.RepairOptions, w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "store in %s: %s up to position %d, log in %s\n", p.Dir, units.Count(p.SegmentCount, "segment"), p.SegmentUpto, p.LogDir)
	switch {
	case p.Refused == nil && p.Torn != nil:
		fmt.Fprintf(&b, "the log can be opened: positions %d to before %d\n", p.First, p.Next)
	case p.Refused == nil:
		fmt.Fprintf(&b, "the log is sound: positions %d to before %d\n", p.First, p.Next)
	default:
		repairLogText(p, &b)
	}
	if t := p.Torn; t != nil {
		fmt.Fprintf(&b, "torn: %s from offset %d on, %d bytes, with %s behind one that is not whole\n", t.File, t.Offset, t.Bytes, units.Count(t.Records, "whole record"))
		fmt.Fprintf(&b, "no repair keeps them: opening the store cuts them, from position %d on, and keeps a copy in quarantine; before, \"stele import %s DST\" reads them into another store\n", t.Position, p.Dir)
	}
	for _, s := range p.Segments {
		repairSegmentText(s, &b)
	}
	repairOtherText(p, &b)
	repairMissingText(p, o, &b)
	switch {
	case p.LogKept:
		fmt.Fprintf(&b, "the log stays as it is: positions %d to before %d\n", p.First, p.Next)
	case p.Refused != nil:
		free := ""
		if p.Free >= 0 {
			free = fmt.Sprintf("; %s are free", units.Decimal(float64(p.Free)))
		}
		fmt.Fprintf(&b, "new log: positions %d to before %d, at most %s%s\n", p.First, p.Next, units.Decimal(float64(p.Need)), free)
	case p.Interrupted:
		fmt.Fprintln(&b, "a repair was interrupted: the old log, or its report, is not in quarantine yet")
	case len(p.Segments) == 0 && len(p.Missing) == 0 && setAside(p) == 0 && p.Torn == nil:
		fmt.Fprintln(&b, "nothing to repair")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// repairLogText prints what becomes of the log.
func repairLogText(p *logstore.RepairPlan, b *strings.Builder) {
	fmt.Fprintf(b, "cannot be opened: %v\n", p.Refused)
	for _, d := range p.LogDamage {
		end := "on"
		if d.End > 0 {
			end = fmt.Sprintf("to before %d", d.End)
		}
		fmt.Fprintf(b, "damaged: %s, bytes %d %s: %s\n", filepath.Base(d.File), d.Offset, end, d.Reason)
	}
	kept := "nothing"
	if n := p.KeptRecords(); n > 0 {
		kept = fmt.Sprintf("%s with %s, %s: positions %s", units.Count(int(n), "record"), entries(p.KeptEntries), units.Decimal(float64(p.KeptBytes)), positions(p.Kept))
	}
	fmt.Fprintf(b, "kept of the log: %s\n", kept)
	var lost []string
	if len(p.Lost) > 0 {
		lost = append(lost, fmt.Sprintf("%s: positions %s", units.Count(int(p.LostPositions()), "record"), positions(p.Lost)))
	}
	if p.OpenEnd {
		lost = append(lost, fmt.Sprintf("whatever the log had from position %d on", p.Next))
	}
	if len(p.GivenUp) > 0 {
		lost = append(lost, fmt.Sprintf("%s with %s, intact, but below positions of segments: positions %s, which the old log in quarantine has", units.Count(int(countPositions(p.GivenUp)), "record"), entries(p.GivenUpEntries), positions(p.GivenUp)))
	}
	fmt.Fprintf(b, "given up: %s\n", cmp.Or(strings.Join(lost, ", and "), "nothing"))
	if len(lost) > 0 || len(p.Deletions) > 0 {
		fmt.Fprintf(b, "deletions that were pending there are given up too, %d are known: entries whose bytes are left are found again; delete them again\n", len(p.Deletions))
	}
	for _, d := range p.Deletions {
		fmt.Fprintf(b, "deletion given up: %v\n", d)
	}
	if p.Covered > 0 {
		fmt.Fprintf(b, "not lost: %s damaged, which segments have\n", units.Count(int(p.Covered), "record"))
	}
}

// repairOtherText prints which segments are not of the log, and what becomes of them.
func repairOtherText(p *logstore.RepairPlan, b *strings.Builder) {
	for _, o := range p.OtherLog {
		then := "it is served"
		if !o.Served {
			then = "goes to quarantine"
		}
		fmt.Fprintf(b, "not of this log: %s, positions %d to %d of its own log, %s: %s; %s\n", filepath.Base(o.File), o.After+1, o.Upto, entries(o.Entries), o.Reason, then)
	}
	if setAside(p) > 0 {
		fmt.Fprintf(b, "\"stele import FILE %s\" appends the entries of a segment in quarantine\n", p.Dir)
	}
}

// setAside counts the segments that go to quarantine as they are not of the log.
func setAside(p *logstore.RepairPlan) (n int) {
	for _, o := range p.OtherLog {
		if !o.Served {
			n++
		}
	}
	return n
}

func countPositions(list []logstore.PositionRange) (n uint64) {
	for _, r := range list {
		n += r.Last - r.First + 1
	}
	return n
}

// repairMissingText prints which segments are missing, and what a person can do.
func repairMissingText(p *logstore.RepairPlan, o logstore.RepairOptions, b *strings.Builder) {
	if len(p.Missing) == 0 {
		return
	}
	known, all := int64(0), true
	for _, m := range p.Missing {
		fmt.Fprintln(b, strings.TrimPrefix(m.Error(), "logstore: "))
		known += max(0, m.Entries)
		all = all && m.Entries >= 0
	}
	if o.AcceptMissing {
		atLeast := ""
		if !all {
			atLeast = "at least "
		}
		fmt.Fprintf(b, "given up for good: %s missing, or parts of them, with %s%s\n", units.Count(len(p.Missing), "segment"), atLeast, entries(known))
		return
	}
	fmt.Fprintf(b, "no repair gives back what is missing: \"stele import FILE %s\" puts the file of a copy back in its place, and so it does with the directory of a snapshot; until then the store opens with what there is, and tells what is missing; \"stele repair %[1]s --accept-missing\" gives up what nobody can bring back\n", p.Dir)
}

func repairSegmentText(s logstore.SegmentDamage, b *strings.Builder) {
	fmt.Fprintf(b, "damaged segment: %s: ", filepath.Base(s.File))
	switch {
	case s.Replayed:
		fmt.Fprint(b, "nothing is lost, as the log has all of it")
	case s.IndexErr != nil:
		fmt.Fprintf(b, "%s can be read, %d and perhaps more cannot", entries(s.Readable), s.Lost)
	default:
		fmt.Fprintf(b, "%s can be read, %d are in damaged blocks", entries(s.Readable), s.Lost)
	}
	fmt.Fprintln(b)
	for _, err := range s.Damage {
		fmt.Fprintf(b, "  %v\n", err)
	}
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// positions formats ranges of positions, not more than a person reads.
func positions(list []logstore.PositionRange) string {
	const most = 20
	var all []string
	for _, r := range list[:min(len(list), most)] {
		all = append(all, r.String())
	}
	if more := len(list) - most; more > 0 {
		all = append(all, fmt.Sprintf("and %d ranges more", more))
	}
	return strings.Join(all, ", ")
}
