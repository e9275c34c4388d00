package logstore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/logstore/internal/catalog"
)

// repairedNote is a file in the directory of a log that a repair has made. It says what
// the repair has given up, for the first Open to tell, which removes it:
//
//	log NAME          what follows is of this repair, whose report is NAME.txt in quarantine
//	lost FIRST LAST   positions
//	from POSITION     whatever the old log had from there on
//	deletions N       that were pending and are known
//
// A repair takes over the lines of the log that it replaces. The file becomes durable, and
// is published, with the new log.
const repairedNote = "REPAIRED"

// A repairNote is what one repair has given up.
type repairNote struct {
	name      string
	lost      positionSet
	from      uint64 // 0: none
	deletions int
}

type repairNotes []repairNote

// lost returns the positions that repairs have given up.
func (n repairNotes) lost() (list []catalog.Holding) {
	for _, note := range n {
		for _, r := range note.lost {
			list = append(list, catalog.Holding{After: r.First - 1, Upto: r.Last})
		}
	}
	return list
}

// note returns the lines for the first Open.
func (p *RepairPlan) note(name string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "log %s\n", name)
	for _, r := range p.Lost {
		fmt.Fprintf(&b, "lost %d %d\n", r.First, r.Last)
	}
	if p.OpenEnd {
		fmt.Fprintf(&b, "from %d\n", p.Next)
	}
	fmt.Fprintf(&b, "deletions %d\n", len(p.Deletions))
	return b.Bytes()
}

// writeNote writes the note of a repair beside the new log, durably.
func (r *repair) writeNote(name string) error {
	before, err := os.ReadFile(filepath.Join(r.plan.LogDir, repairedNote))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !isLogDamage(err) {
		return err
	}
	return atomicfile.WriteFile(r.path(repairDir, repairedNote), append(before, r.plan.note(name)...), 0o644)
}

// readNotes returns what the repairs of the log in dir have given up that no Open has
// told. What cannot be read of them, their reports in quarantine have.
func readNotes(dir string) (notes repairNotes) {
	p, err := os.ReadFile(filepath.Join(dir, repairedNote))
	if err != nil {
		return nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(p)); lines.Scan(); {
		var name string
		var r PositionRange
		line := lines.Text()
		if _, err := fmt.Sscanf(line, "log %s", &name); err == nil {
			notes = append(notes, repairNote{name: name})
			continue
		}
		if len(notes) == 0 {
			continue
		}
		n := &notes[len(notes)-1]
		if _, err := fmt.Sscanf(line, "lost %d %d", &r.First, &r.Last); err == nil && 0 < r.First && r.First <= r.Last {
			n.lost = append(n.lost, r)
		}
		_, _ = fmt.Sscanf(line, "from %d", &n.from)
		_, _ = fmt.Sscanf(line, "deletions %d", &n.deletions)
	}
	return notes
}

// tellRepaired tells what repairs have given up, if no Open has told it before.
func (s *Store) tellRepaired() repairNotes {
	notes := readNotes(filepath.Join(s.dir, logDir))
	for _, n := range notes {
		report := filepath.Join(s.dir, catalog.QuarantineDir, n.name+catalog.ReportSuffix)
		for _, r := range n.lost {
			s.roster.gaps.Add(1)
			s.roster.positions.Add(int64(r.Last - r.First + 1))
			s.events.tell(Event{Kind: EventGap, After: r.First - 1, Upto: r.Last, Entries: -1, Reason: "a repair has given them up: see " + report})
		}
		if n.from > 0 {
			s.roster.gaps.Add(1)
			s.events.tell(Event{Kind: EventGap, Position: n.from, Entries: -1, Reason: "a repair has given up whatever the log had from there on: see " + report})
		}
		if len(n.lost) > 0 || n.from > 0 || n.deletions > 0 {
			s.events.tell(Event{Kind: EventUndeleted, Count: int64(n.deletions), Reason: undeleted(n.deletions)})
		}
	}
	return notes
}

// dropNotes removes the notes, which have been told. One that a crash leaves is told once
// more.
func (s *Store) dropNotes(notes repairNotes) {
	if len(notes) > 0 {
		err := os.Remove(filepath.Join(s.dir, logDir, repairedNote))
		s.bgErrors.set("forgetting what a repair gave up", err)
	}
}

// undeleted says what a person is to do about deletions that a repair gives up, of which
// so many are known.
func undeleted(known int) string {
	return fmt.Sprintf("deletions that were pending in what is given up of the log are given up too (%d are known): entries whose bytes are left are found again; delete them again", known)
}

// undeleted returns what is to be said about deletions, "" if no repair gives any up.
func (p *RepairPlan) undeleted() string {
	if p.Refused == nil || len(p.Lost) == 0 && !p.OpenEnd && len(p.Deletions) == 0 {
		return ""
	}
	return undeleted(len(p.Deletions))
}

// planDeletions lists the pending deletions that can be read in the log and are not in
// records that are kept.
func (p *RepairPlan) planDeletions(segs []repairSegment) {
	if p.Refused == nil || p.LogKept || isOtherLog(logOf(p.Dir, p.LogDir).log, newestLog(segs)) {
		return // there is no repair, or they are of another log
	}
	all := salvageContents(p.LogDir).deletions
	kept := func(d *deletion) bool { return positionSet(p.Kept).has(PositionRange{d.logged, d.logged}) }
	for i, d := range all {
		again := slices.ContainsFunc(all[:i], func(o *deletion) bool { return o.Position == d.Position })
		if !again && !slices.ContainsFunc(all, func(o *deletion) bool { return o.Position == d.Position && kept(o) }) {
			p.Deletions = append(p.Deletions, d.Deletion)
		}
	}
}
