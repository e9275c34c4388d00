package logstore

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// report returns the report on an old log in quarantine.
func (p *RepairPlan) report(name string, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log:         %s\n", name)
	fmt.Fprintf(&b, "quarantined: %s\n", now.UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, "why:         %v\n", p.Refused)
	fmt.Fprintf(&b, "kept:        %d records with %d entries, in the new log, at their positions: %s\n", p.KeptRecords(), p.KeptEntries, rangeList(p.Kept))
	fmt.Fprintf(&b, "lost:        %d positions: %s\n", p.LostPositions(), rangeList(p.Lost))
	if p.OpenEnd {
		fmt.Fprintf(&b, "lost:        whatever the log had from position %d on\n", p.Next)
	}
	if len(p.GivenUp) > 0 {
		fmt.Fprintf(&b, "given up:    %d intact records with %d entries, which no segment has, below positions of segments; the log beside this report has them: %s\n", positionSet(p.GivenUp).count(), p.GivenUpEntries, rangeList(p.GivenUp))
	}
	for _, o := range p.OtherLog {
		fmt.Fprintf(&b, "other log:   %v\n", o)
	}
	if text := p.undeleted(); text != "" {
		fmt.Fprintf(&b, "deletions:   %s\n", text)
	}
	for _, d := range p.Deletions {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	for _, m := range p.Missing {
		fmt.Fprintf(&b, "missing:     %s\n", strings.TrimPrefix(m.Error(), "logstore: "))
	}
	if p.Covered > 0 {
		fmt.Fprintf(&b, "not lost:    %d damaged positions, which segments have\n", p.Covered)
	}
	if len(p.LogDamage) > 0 {
		fmt.Fprintf(&b, "damaged:     %d\n", len(p.LogDamage))
	}
	for _, d := range p.LogDamage {
		end := "the end"
		if d.End > 0 {
			end = fmt.Sprint("before ", d.End)
		}
		fmt.Fprintf(&b, "  %s from offset %d to %s: %s\n", d.File, d.Offset, end, d.Reason)
	}
	return b.String()
}

// rangeList formats ranges of positions.
func rangeList(list []PositionRange) string {
	var all []string
	for _, r := range list {
		all = append(all, r.String())
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}
