package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/lab/env"
	"github.com/stele-go/stele/lab/report"
)

const probeUsage = `Usage: stele probe [DIR] [flags]

Shows the machine, the file system and the device under DIR (default the current
directory), and the operations that the file system supports. Then it tests the
mount for honesty, which takes some seconds: the cost of fsync, fdatasync, O_SYNC
and O_DSYNC, and the requests that they cause at the devices beneath, down to the
disk under an image. It names network file systems and FUSE programs, says how
they are known to sync, and lists the causes of loss that no program can see from
here. It also counts the entries of DIR, and lists the mounts below it.

It works on temporary files in DIR and removes them. Only a power cut proves that
a sync is done; probe finds syncs that are not done.

Exit codes: 0 syncs are honest in all that can be seen from here; 1 probe failed;
2 wrong call; 3 syncs are not honest; 4 whether they are cannot be told.

Examples:
  stele probe
  stele probe /tmp
  stele probe . --json -
`

// Exit codes of probe, beside those of every command.
const (
	exitNotHonest  = 3
	exitCannotTell = 4
)

func probe(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele probe", probeUsage)
	file := f.String("json", "", "write JSON to `FILE` instead of text; - is standard output")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if err := argCount(f, "DIR", 0, 1); err != nil {
		return usageError(stderr, "stele probe", exitUsage, err)
	}
	if _, err := checkOutputs(output{"--json", *file}); err != nil {
		return usageError(stderr, "stele probe", exitUsage, err)
	}
	can, err := probeDir(cmp.Or(f.Arg(0), "."))
	if err == nil {
		if *file == "" {
			err = writeProbe(stdout, can)
		} else {
			err = writeJSON(*file, stdout, can)
		}
	}
	if err != nil {
		return failed(stderr, "stele probe", err)
	}
	switch can.Syncs.Verdict {
	case env.NotHonest:
		return exitNotHonest
	case env.CannotTell:
		return exitCannotTell
	}
	return exitOK
}

// probeDir tries, measures and counts everything.
func probeDir(dir string) (*env.Capabilities, error) {
	can, err := env.Probe(dir)
	if err != nil {
		return nil, err
	}
	if can.Syncs, err = env.ProbeSyncs(dir, &can.Environment); err != nil {
		return nil, err
	}
	can.Tree, err = env.ProbeTree(dir)
	return can, err
}

// writeProbe writes all that was found as text.
func writeProbe(w io.Writer, can *env.Capabilities) error {
	blank := func() error { _, err := fmt.Fprintln(w); return err }
	err := errors.Join(report.Environment(w, &can.Environment), blank(), can.WriteText(w), blank(), can.Tree.WriteText(w), blank())
	for _, c := range can.Syncs.Caps {
		_, capErr := fmt.Fprintf(w, "! %s (%s)\n", report.CapText(c), c.On)
		err = errors.Join(err, capErr)
	}
	return errors.Join(err, can.Syncs.WriteText(w))
}
