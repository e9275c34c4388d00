package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/logstore"
)

// repairSchema names the layout of --json. The number grows when a reader of the
// old layout would misread the new one.
const repairSchema = "stele.repair/1"

const repairUsage = `Usage: stele repair DIR [flags]

Says what can be kept of the log store in DIR, and what would be given up, if its
log is damaged or missing so that it cannot be opened. It writes nothing, and
refuses a store that a process has open.

A store whose log is sound needs no repair, even if segments are damaged: opening
it salvages what is intact of them, and moves them to the directory quarantine.

It exits with 0 if nothing is damaged, and with 1 if something is, or if DIR
cannot be read.

With --json the result is one object.

Examples:
  stele repair store
  stele repair store --quick
  stele repair store --json -
`

func repairCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele repair", repairUsage)
	var o logstore.RepairOptions
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
	p, err := logstore.PlanRepair(ctx, f.Arg(0), o)
	m.end()
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		return failed(stderr, f.Name(), err)
	}
	if err := errors.Join(printRepair(p, *file, stdout), repairFindings(p)); err != nil {
		return failed(stderr, f.Name(), err)
	}
	return exitOK
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
func printRepair(p *logstore.RepairPlan, file string, stdout io.Writer) error {
	if file != "" {
		return writeJSON(file, stdout, repairJSON(p))
	}
	return repairText(p, stdout)
}

// repairFindings returns an error if something is damaged.
func repairFindings(p *logstore.RepairPlan) error {
	switch {
	case p.Refused != nil:
		return fmt.Errorf("%s needs a repair; nothing was changed", p.Dir)
	case len(p.Segments) > 0:
		return fmt.Errorf("%s: %d of %d segments are damaged; opening the store salvages them", p.Dir, len(p.Segments), p.SegmentCount)
	}
	return nil
}
