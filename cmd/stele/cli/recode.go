package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/logstore"
)

// recodeSchema names the layout of --json. The number grows when a reader of the
// old layout would misread the new one.
const recodeSchema = "stele.recode/1"

const recodeUsage = `Usage: stele recode DIR [flags]

Encodes the lines of the log store in DIR, which no process has open, with another
codec: each segment that has blocks of others is written again. What queries find
stays the same, byte for byte.

The codecs are columns, in which a line is a template and variables in columns by
type, and lines, which compresses the text. A store reads both. Without stele recode,
compactions move old blocks over, but only of the segments that they merge.

Segments are written one after the other, each replaced when the new one is safe
from a power cut. So stele recode may be interrupted: DIR is sound then, and the
next call goes on. The largest segment must fit into the free space once more.

It exits with 0 if all is done, and with 1 if a segment could not be written, which
standard error says; the others are done then.

With --json the result is one object.

Examples:
  stele recode store
  stele recode store --codec lines --rate 20M --json -
`

func recodeCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele recode", recodeUsage)
	codec := f.String("codec", logstore.CodecColumns.String(), "codec of all blocks: `CODEC` is columns or lines")
	memory := f.String("memory", "", "memory of the store: `SIZE`, such as 512M (default 256MiB)")
	rate := f.String("rate", "", "most bytes a second that are read, and written: `SIZE` (default no limit)")
	file := f.String("json", "", "write JSON to `FILE` instead of text; - is standard output")
	mode := ""
	progressFlag(f, &mode)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	o := logstore.Options{BackgroundRate: -1}
	m, err := newMeter(mode, stderr)
	err = cmp.Or(err, oneOf("--codec", *codec, logstore.CodecColumns.String(), logstore.CodecLines.String()))
	if err == nil {
		err = o.Codec.UnmarshalText([]byte(*codec))
	}
	for _, size := range []struct {
		flag, value string
		to          *int64
	}{{"--memory", *memory, &o.Memory}, {"--rate", *rate, &o.BackgroundRate}} {
		if size.value != "" && err == nil {
			*size.to, err = sizeFlag(size.flag, size.value)
		}
	}
	if err = cmp.Or(err, argCount(f, "DIR", 1, 1)); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	m.last, m.jsonEvery = time.Now(), time.Second // short work shows nothing
	doc, err := recode(ctx, f.Arg(0), o, m)
	m.end()
	if err == nil {
		err = doc.print(*file, stdout)
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		return failed(stderr, f.Name(), err)
	}
	return exitOK
}

// recode encodes the lines of a store.
func recode(ctx context.Context, dir string, o logstore.Options, m *meter) (doc recodeDoc, err error) {
	if _, err := logstore.Inspect(dir); err != nil {
		return doc, err // Open would make a store
	}
	s, err := logstore.Open(dir, o)
	if err != nil {
		return doc, err
	}
	before := s.Stats().SegmentBytes
	doc = recodeDoc{Schema: recodeSchema, Dir: dir, Codec: o.Codec}
	err = s.Recode(ctx, func(p logstore.RecodeProgress) {
		doc.Lines = p.Done
		m.show(false, recodeEvent{"recoded", p.Done, p.Total}, func() string {
			return fmt.Sprintf("%s: %s of lines in %s", dir, units.Size(p.Done), units.Size(p.Total))
		})
	})
	doc.Before, doc.After = before, s.Stats().SegmentBytes
	return doc, errors.Join(err, s.Close())
}

// A recodeEvent is an event of --progress json.
type recodeEvent struct {
	Event string `json:"event"`
	Done  int64  `json:"done_bytes"`
	Total int64  `json:"total_bytes"`
}

type recodeDoc struct {
	Schema string         `json:"schema"`
	Dir    string         `json:"dir"`
	Codec  logstore.Codec `json:"codec"`
	Lines  int64          `json:"recoded_line_bytes"`
	Before int64          `json:"segment_bytes_before"`
	After  int64          `json:"segment_bytes"`
}

// print prints the result as text, or as JSON to the file.
func (d recodeDoc) print(file string, stdout io.Writer) error {
	if file != "" {
		return writeJSON(file, stdout, d)
	}
	_, err := fmt.Fprintf(stdout, "%s: %d bytes of lines are recoded as %v: segments of %d bytes, %d before\n", d.Dir, d.Lines, d.Codec, d.After, d.Before)
	return err
}
