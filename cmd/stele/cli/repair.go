package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/logstore"
)

// repairSchema names the layout of --json. The number grows when a reader of the
// old layout would misread the new one.
const repairSchema = "stele.repair/1"

const repairUsage = `Usage: stele repair DIR [flags]

Says what can be kept of the log store in DIR, and what would be given up, if its
log is damaged or missing so that it cannot be opened. With --yes it then repairs
the store; without, it writes nothing. It refuses a store that a process has open.

A repair moves the old log, as it is, to DIR/quarantine/log-TIME, with a report
beside it, and makes a new one with every intact record that no segment has. It
needs space for both. Nothing is removed: delete the old log when you no longer
need it. A repair that is interrupted leaves the store as it was, or repaired; call
it again then.

A segment that is not of the log, but of another store or of an old copy, goes to
quarantine too. If the log is sound it stays as it is, so if you would rather keep
the segments, move DIR/wal away first. "stele import" appends the entries of a
segment in quarantine.

A store whose log is sound needs no repair, even if segments are damaged: opening
it salvages what is intact of them, and moves them to quarantine.

Nor does a log that ends in a torn tail. If that has whole records, opening the
store cuts them, and keeps a copy in quarantine: they count as damage here.

A segment that is missing comes back from a copy of its file: stele import FILE DIR
puts it in its place. --accept-missing gives up those that nobody can bring back:
with --yes the store no longer expects them, and a report in DIR/quarantine says
what they had; without, it says what would be given up.

It exits with 0 if nothing is damaged or missing, or if DIR was repaired and misses
nothing that was not given up, and with 1 if something is damaged or missing, or if
DIR cannot be read or repaired.

With --json the result is one object.

Examples:
  stele repair store
  stele repair store --quick --json -
  stele repair store --yes
  stele repair store --accept-missing --yes
`

func repairCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele repair", repairUsage)
	var o logstore.RepairOptions
	yes := f.Bool("yes", false, "repair the store")
	f.BoolVar(&o.AcceptMissing, "accept-missing", false, "give up the segments that are missing, for good")
	f.BoolVar(&o.Quick, "quick", false, "do not verify the blocks of the segments")
	file := f.String("json", "", "write JSON to `FILE` instead of text; - is standard output")
	mode := ""
	progressFlag(f, &mode)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	m, err := newMeter(mode, stderr)
	if err == nil {
		err = argCount(f, "DIR", 1, 1)
	}
	if err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	m.last, m.jsonEvery = time.Now(), time.Second // short work shows nothing
	o.Progress = func(p logstore.VerifyProgress) {
		m.show(false, progressOf(p), func() string {
			return fmt.Sprintf("read %d MiB: %s", p.Done>>20, filepath.Base(p.File))
		})
	}
	if *yes {
		err = repairStore(ctx, f.Arg(0), o, *file, m, stdout)
	} else {
		err = planRepair(ctx, f.Arg(0), o, *file, m, stdout)
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		return failed(stderr, f.Name(), err)
	}
	return exitOK
}

// planRepair prints what a repair would do. The error is also that something is
// damaged.
func planRepair(ctx context.Context, dir string, o logstore.RepairOptions, file string, m *meter, stdout io.Writer) error {
	p, err := logstore.PlanRepair(ctx, dir, o)
	m.end()
	if err != nil {
		return err
	}
	return errors.Join(printRepair(p, o, file, stdout), repairFindings(p, o))
}

// repairStore prints what the repair will do, before it does it, and where the old
// log is.
func repairStore(ctx context.Context, dir string, o logstore.RepairOptions, file string, m *meter, stdout io.Writer) error {
	printed := false
	o.Confirm = func(p *logstore.RepairPlan) error {
		m.end()
		if file != "" {
			return nil
		}
		printed = true
		return repairText(p, o, stdout)
	}
	p, err := logstore.Repair(ctx, dir, o)
	m.end()
	switch {
	case err != nil:
		return err
	case file != "" || !printed:
		return errors.Join(printRepair(p, o, file, stdout), openFinding(p))
	}
	if p.Quarantine != "" || p.LogKept {
		_, err = fmt.Fprintf(stdout, "repaired: %s\n", repaired(p))
	}
	if p.Accepted != "" {
		_, more := fmt.Fprintf(stdout, "accepted: the store no longer expects what is missing; the report is %s\n", p.Accepted)
		err = errors.Join(err, more)
	}
	return errors.Join(err, openFinding(p))
}

// progressOf is an event of --progress json.
func progressOf(p logstore.VerifyProgress) any {
	return struct {
		Event string `json:"event"`
		File  string `json:"file"`
		Done  int64  `json:"done"`
	}{"read", p.File, p.Done}
}

// printRepair prints a plan as text, or as JSON to the file.
func printRepair(p *logstore.RepairPlan, o logstore.RepairOptions, file string, stdout io.Writer) error {
	if file != "" {
		return writeJSON(file, stdout, repairJSON(p))
	}
	return repairText(p, o, stdout)
}

// repairFindings returns an error if something is damaged.
func repairFindings(p *logstore.RepairPlan, o logstore.RepairOptions) error {
	switch {
	case p.Refused != nil:
		return fmt.Errorf("%s needs a repair; nothing was changed: --yes repairs it", p.Dir)
	case p.Interrupted:
		return fmt.Errorf("%s: a repair was interrupted; nothing was changed: --yes completes it", p.Dir)
	case len(p.Missing) > 0 && o.AcceptMissing:
		return fmt.Errorf("%s: %s missing, or parts of them; nothing was changed: --yes gives them up", p.Dir, units.Count(len(p.Missing), "segment"))
	case len(p.Missing) > 0 || p.Torn != nil:
		return openFinding(p)
	case setAside(p) > 0:
		return fmt.Errorf("%s: %s not of its log; opening the store moves them to quarantine", p.Dir, units.Count(setAside(p), "segment"))
	case len(p.Segments) > 0:
		return fmt.Errorf("%s: %d of %d segments are damaged; opening the store salvages them", p.Dir, len(p.Segments), p.SegmentCount)
	}
	return nil
}

// repaired says what a repair has done with the log.
func repaired(p *logstore.RepairPlan) string {
	switch {
	case p.LogKept:
		return fmt.Sprintf("the log is as it was, and %s set aside in quarantine", units.Count(setAside(p), "segment"))
	case p.LogMissing:
		return fmt.Sprintf("there was no log to keep, the report is in %s.txt", p.Quarantine)
	}
	return fmt.Sprintf("the old log is in %s", p.Quarantine)
}

// openFinding returns an error if segments are missing that were not given up, or if
// opening the store cuts whole records.
func openFinding(p *logstore.RepairPlan) error {
	var errs []error
	if n := len(p.Missing); n > 0 && p.Accepted == "" {
		errs = append(errs, fmt.Errorf("%s: %s missing, or parts of them, and no repair gives them back: import the files, or --accept-missing gives them up", p.Dir, units.Count(n, "segment")))
	}
	if t := p.Torn; t != nil {
		errs = append(errs, fmt.Errorf("%s: opening the store cuts %s from the log, and keeps a copy in quarantine", p.Dir, units.Count(t.Records, "whole record")))
	}
	return errors.Join(errs...)
}
