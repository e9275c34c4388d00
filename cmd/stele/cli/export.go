package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/internal/setting"
)

const exportUsage = `Usage: stele export QUERY [flags]

Writes all lines of a log query, oldest first, from the server at --addr, which is
stele serve, or with --data from a store that no process has open. It takes little memory,
however many lines there are.

Formats (-o):
  json   an object a line: time, labels, metadata and line (the default); a line that is
         not UTF-8 is line64, in base64, instead of line
  csv    a row each, with a header: time, labels, metadata, line
  raw    the lines alone, byte by byte

To a --file it writes FILE.part, and renames it once it is complete and safe from a power
cut. If it is interrupted, by a failure, Ctrl-C or a crash, the same call with --resume
goes on after the lines that FILE.part has, and each line is in FILE once. FILE.part.state
tells how far it came, and which range that was: --since 1h still ends where the first call
ended. Only --addr, --data and --progress may differ.

It exits with 0 if all lines are written, and with 1 if not.

Examples:
  stele export '{app="shop"}' --since 7d --file shop.jsonl.gz --compress gzip
  stele export '{app="shop"} |= "timeout"' -o csv
  stele export '{app="web"}' --data store --from 0 -o raw --file out.zst --compress zstd
`

// exportFlags are the flags of stele export.
type exportFlags struct {
	clientFlags
	output, file, compress string
	progress               string
	limit                  int
	resume                 bool
}

func exportCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele export", exportUsage)
	var x exportFlags
	x.serverFlags(f)
	x.dataFlag(f)
	f.Lookup("timeout").Usage = "longest `TIME` in which the server answers nothing, not even that it is there; 0 means no limit"
	x.rangeFlags(f, "1h")
	f.IntVarP(&x.limit, "limit", "n", 0, "write at most `N` lines; 0 means all")
	f.StringVarP(&x.output, "output", "o", "json", "`FORMAT` json, csv or raw")
	f.StringVar(&x.file, "file", "-", "write to `FILE`, or to standard output (-)")
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

func (x *exportFlags) check() error {
	err := cmp.Or(
		x.checkTimeout(),
		setting.AtLeast("--limit", x.limit, 0),
		oneOf("--output", x.output, "json", "csv", "raw"),
		oneOf("--compress", x.compress, "gzip", "zstd", "none"),
	)
	if err != nil {
		return err
	}
	_, err = checkOutputs(output{"--file", x.file})
	if x.resume && !x.restartable() {
		return setting.Wrong("--resume", setting.Text("true"), "a --file with it that is not a device or a pipe")
	}
	return err
}

// restartable reports whether the output is a file that can be cut and renamed.
func (x *exportFlags) restartable() bool {
	st, err := os.Stat(x.file)
	return x.file != "-" && x.file != "" && (err != nil || st.Mode().IsRegular())
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
func (x *exportFlags) run(ctx context.Context, c *lokiclient.Client, ask lokiclient.Export, stdout io.Writer, m *meter) error {
	if x.restartable() {
		out, err := x.open(&ask)
		if err != nil || out == nil {
			return err
		}
		defer out.abort()
		return x.write(ctx, c, ask, out, m)
	}
	if x.file == "-" || x.file == "" {
		return x.stream(ctx, c, ask, stdout, m)
	}
	return writeFile(x.file, stdout, func(w io.Writer) error { return x.stream(ctx, c, ask, w, m) })
}

// stream writes all lines to standard output or to what is not a file.
func (x *exportFlags) stream(ctx context.Context, c *lokiclient.Client, ask lokiclient.Export, w io.Writer, m *meter) error {
	out, err := newExportOutput(w, x.output, x.compress, false, plainStyle(w))
	if err != nil {
		return err
	}
	return x.write(ctx, c, ask, out, m)
}

// open opens the file of an export. With --resume ask goes on where it ended. The output
// is nil if there is nothing more to write.
func (x *exportFlags) open(ask *lokiclient.Export) (*exportOutput, error) {
	state := newExportState(x, ask)
	open := beginExport
	if x.resume {
		open = resumeExport
	}
	f, err := open(x.file, &state)
	if err != nil || f == nil {
		return nil, err
	}
	ask.Start, ask.End, ask.After = state.Start, state.End, state.Cursor
	out, err := newExportFile(f, x.file, state)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if ask.Limit > 0 {
		ask.Limit -= int(state.Lines)
		if ask.Limit <= 0 {
			return nil, out.commit()
		}
	}
	return out, nil
}

func (x *exportFlags) write(ctx context.Context, c *lokiclient.Client, ask lokiclient.Export, out *exportOutput, m *meter) error {
	e := exportEvent{Event: "exported"}
	for line, err := range c.Export(ctx, ask) {
		if err != nil {
			err = errors.Join(err, out.checkpoint()) // what came is kept for --resume
			if out.file != nil && out.lines > 0 {
				m.warn(x.f.Name(), fmt.Errorf("%s has %s lines; the same call with --resume goes on", partOf(x.file), grouped(out.lines)))
			}
			return err
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
