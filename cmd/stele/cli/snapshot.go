package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stele-go/stele/logstore"
)

// snapshotSchema names the layout of --json. The number grows when a reader of the
// old layout would misread the new one.
const snapshotSchema = "stele.snapshot/1"

const snapshotUsage = `Usage: stele snapshot DIR DST [flags]

Makes a copy of the log store in DIR, which no process has open, in DST. DST must
not exist, or be an empty directory. DIR is not changed. A program that has a store
open makes such a copy with Store.Snapshot, while it goes on.

On the same file system the segments in DST are hard links to those in DIR, which
no store ever writes to; else they share their blocks, if the file system can, or
are copied. A link takes no space and is no second copy: back DST up to another
disk to be safe from this one.

DST is there, whole and safe from a power cut, when stele snapshot has ended. One
that is interrupted leaves no DST, but may leave DST.part, which no store opens:
remove it.

A store that is damaged or misses a part is refused: stele repair tells what is
wrong, and gives up what nobody can bring back (--accept-missing); stele import puts
missing segments back, and copies what can be read into another store.

It exits with 0 if DST is made, and with 1 if it is not.

With --json the result is one object.

Examples:
  stele snapshot store copy
  stele snapshot store copy2 --json -
`

func snapshotCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele snapshot", snapshotUsage)
	memory := f.String("memory", "", "memory for the log while it is read: `SIZE`, such as 512M (default 256MiB)")
	file := f.String("json", "", "write JSON to `FILE` instead of text; - is standard output")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	o, err := logstore.Options{}, error(nil)
	if *memory != "" {
		o.Memory, err = sizeFlag("--memory", *memory)
	}
	if err = cmp.Or(err, argCount(f, "DIR DST", 2, 2)); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	info, err := takeSnapshot(ctx, f.Arg(0), f.Arg(1), o)
	if err == nil {
		err = printSnapshot(f.Arg(0), f.Arg(1), info, *file, stdout)
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		return failed(stderr, f.Name(), err)
	}
	return exitOK
}

// takeSnapshot makes a snapshot of a store that no process has open.
func takeSnapshot(ctx context.Context, dir, to string, o logstore.Options) (info logstore.SnapshotInfo, err error) {
	s, err := logstore.OpenReadOnly(dir, o)
	if err != nil {
		return info, err
	}
	info, err = s.Snapshot(ctx, to)
	return info, errors.Join(err, s.Close())
}

type snapshotDoc struct {
	Schema      string `json:"schema"`
	Dir         string `json:"dir"`
	To          string `json:"to"`
	Position    uint64 `json:"position"`
	Segments    int    `json:"segments"`
	Linked      int    `json:"linked"`
	Cloned      int    `json:"cloned"`
	Bytes       int64  `json:"bytes"`
	CopiedBytes int64  `json:"copied_bytes"`
	LogBytes    int64  `json:"log_bytes"`
}

// printSnapshot prints the result as text, or as JSON to the file.
func printSnapshot(dir, to string, i logstore.SnapshotInfo, file string, stdout io.Writer) error {
	if file != "" {
		return writeJSON(file, stdout, snapshotDoc{
			snapshotSchema, dir, to, i.Position, i.Segments, i.Linked, i.Cloned, i.Bytes, i.CopiedBytes, i.LogBytes,
		})
	}
	how := ""
	if i.Linked > 0 {
		how += fmt.Sprintf(", %d linked", i.Linked)
	}
	if i.Cloned > 0 {
		how += fmt.Sprintf(", %d share blocks", i.Cloned)
	}
	_, err := fmt.Fprintf(stdout, "%s: %s has all up to position %d: %d segments of %d bytes%s, %d bytes copied, and %d of the log\n",
		dir, to, i.Position, i.Segments, i.Bytes, how, i.CopiedBytes, i.LogBytes)
	return err
}
