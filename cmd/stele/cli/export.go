package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/internal/setting"
)

const exportUsage = `Usage: stele export QUERY [flags]

Writes all lines of a query of lines, oldest first, from the server at --addr, which is
stele serve, or with --data from a store that no process has open. It takes little memory,
however many lines there are.

Formats (-o):
  json   an object a line: time, labels, metadata and line (the default)
  csv    a row each, with a header: time, labels, metadata, line
  raw    the lines alone

To a --file it writes FILE.part, and renames it once it is complete and safe from a power
cut. If it is interrupted, by a failure, Ctrl-C or a crash, the same call with --resume
goes on behind what FILE.part has; FILE.part.state tells how much that is.

It exits with 0 if all lines are written, and with 1 if not.

Examples:
  stele export '{app="api"}' --data store --from 0 --to now
  stele export '{app="api"} |= "line"' --data store --from 0 -o csv --file out.csv.gz --compress gzip
  stele export '{app="web"}' --data store --from 0 -o raw --file out.zst --compress zstd
`

// exporting are the flags of stele export.
type exporting struct {
	asking
	output, file, compress string
	progress               string
	limit                  int
	resume                 bool
}

func exportCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele export", exportUsage)
	var x exporting
	x.serverFlags(f)
	x.dataFlag(f)
	x.rangeFlags(f, "1h")
	f.IntVarP(&x.limit, "limit", "n", 0, "at most `N` lines; 0 is all")
	f.StringVarP(&x.output, "output", "o", "json", "`FORMAT` json, csv or raw")
	f.StringVar(&x.file, "file", "", "write to `FILE` and not to standard output")
	f.StringVar(&x.compress, "compress", "none", "compress by `WORD` gzip, zstd or none")
	f.BoolVar(&x.resume, "resume", false, "go on with a --file that was interrupted; the other flags must be the same")
	progressFlag(f, &x.progress)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	m, err := newMeter(x.progress, stderr)
	from, to, rangeErr := x.moments(time.Now())
	if err = cmp.Or(argCount(f, "QUERY", 1, 1), err, rangeErr, x.check()); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	m.last, m.jsonEvery = time.Now(), time.Second
	ask := lokiclient.Export{Query: f.Arg(0), Start: from, End: to, Forward: true, Limit: x.limit}
	return x.ask(ctx, stderr, ask.Query, func(c *lokiclient.Client) error {
		err := x.run(ctx, c, ask, stdout, m)
		m.end()
		return err
	})
}

func (x *exporting) check() error {
	if x.resume && x.file == "" {
		return errors.New("--resume: want --file with it")
	}
	if x.resume && x.limit > 0 {
		return errors.New("--resume: want it without --limit")
	}
	return cmp.Or(
		setting.AtLeast("--limit", x.limit, 0),
		oneOf("--output", x.output, "json", "csv", "raw"),
		oneOf("--compress", x.compress, "gzip", "zstd", "none"),
	)
}

// An exportEvent is an event of --progress json.
type exportEvent struct {
	Event string `json:"event"`
	Lines int64  `json:"lines"`
	Bytes int64  `json:"bytes"` // of lines
	At    string `json:"at"`    // the time of the last one
}

func (e exportEvent) describe() string {
	return fmt.Sprintf("%s lines, %s, up to %s", grouped(e.Lines), decimalSize(e.Bytes), e.At)
}

// run writes all lines.
func (x *exporting) run(ctx context.Context, c *lokiclient.Client, ask lokiclient.Export, stdout io.Writer, m *meter) error {
	var out *exportOutput
	var err error
	if x.file == "" {
		out, err = newExportOutput(stdout, x.output, x.compress, false)
	} else {
		out, err = openExport(x, &ask)
	}
	if err != nil {
		return err
	}
	defer out.abort()
	e := exportEvent{Event: "exported"}
	for line, err := range c.Export(ctx, ask) {
		if err != nil {
			return errors.Join(err, out.checkpoint()) // what came is kept for --resume
		}
		if err := out.write(line); err != nil {
			return err
		}
		e.Lines++
		e.Bytes += int64(len(line.Line))
		m.show(false, e, func() string {
			e.At = timeText(line.Time)
			return e.describe()
		})
	}
	return out.commit()
}
