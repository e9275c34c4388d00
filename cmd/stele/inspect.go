package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/stele-go/stele/wal"
)

// inspectSchema names the layout of the lines of --json. The number grows when
// a reader of the old layout would misread the new one.
const inspectSchema = "stele.inspect/1"

func inspect(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("inspect", `Usage: stele inspect DIR [flags]

Shows what is in the folder DIR of a write-ahead log (package wal), and verifies
every checksum. It writes nothing and takes no lock, so it can look at a log
that a process has open; then the tail may look torn while it is written.

With --json each line is an object: first one of kind "log", then one of kind
"segment" for each file, "record" for each record (with --records), and last one
of kind "verdict".

Exit codes: 0 the log is sound (a torn tail is: opening the log cuts it), 1 it
is damaged or cannot be read, 2 wrong call, 130 interrupted.

Examples:
  stele inspect log
  stele inspect log --records --from 2
  stele inspect log --records --json -
`)
	records := f.Bool("records", false, "list the records too")
	from := f.Uint64("from", 0, "list the records from the position `N` on; needs --records")
	file := f.String("json", "", "write it as lines of JSON to `FILE` instead; - is standard output")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	switch {
	case f.NArg() != 1:
		return usageError(stderr, "inspect", exitUsage, fmt.Errorf("want one folder, got %d", f.NArg()))
	case f.Changed("from") && !*records:
		return usageError(stderr, "inspect", exitUsage, errors.New("--from needs --records"))
	}
	look := func(w io.Writer, p inspectPrinter) error {
		return inspectLog(ctx, f.Arg(0), *records, wal.Position(*from), p)
	}
	var err error
	if *file == "" {
		err = look(stdout, &inspectText{w: stdout})
	} else {
		err = writeFile(*file, stdout, func(w io.Writer) error { return look(w, inspectJSON{json.NewEncoder(w)}) })
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "stele inspect:", err)
		return exitFailed
	}
	return exitOK
}

// An inspectPrinter is told of a log, part by part.
type inspectPrinter interface {
	log(*wal.Inspection) error
	segment(wal.SegmentInfo) error
	record(wal.RecordInfo) error
	verdict(wal.Report, error) error
}

// inspectLog goes through the log in dir. The error is the damage, or why it
// could not be read or printed.
func inspectLog(ctx context.Context, dir string, records bool, from wal.Position, p inspectPrinter) error {
	in, err := wal.Inspect(dir)
	if err != nil {
		return err
	}
	if err := p.log(in); err != nil {
		return err
	}
	for s := range in.Segments() {
		if err := errors.Join(p.segment(s), ctx.Err()); err != nil {
			return err
		}
	}
	if records {
		for r, err := range in.Records(from) {
			if err != nil {
				break // the verdict tells it
			}
			if err := errors.Join(p.record(r), ctx.Err()); err != nil {
				return err
			}
		}
	}
	rep, damage := wal.Verify(dir)
	return errors.Join(p.verdict(rep, damage), damage)
}

// inspectText prints for people.
type inspectText struct {
	w     io.Writer
	table *tabwriter.Writer
	rows  string // what the table has rows of
}

// row prints a row of the table of that kind, whose first row is head.
func (p *inspectText) row(kind, head, format string, args ...any) error {
	if p.rows != kind {
		if err := p.end(); err != nil {
			return err
		}
		p.rows = kind
		p.table = tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(p.table, "\n%s\n", head)
	}
	_, err := fmt.Fprintf(p.table, format+"\n", args...)
	return err
}

func (p *inspectText) end() error {
	if p.table == nil {
		return nil
	}
	err := p.table.Flush()
	p.table = nil
	return err
}

func (p *inspectText) log(in *wal.Inspection) error {
	_, err := fmt.Fprintf(p.w, "log %s in %s, layout version %d\nbegins at position %d, in segment %d\n",
		in.ID, in.Dir, in.Version, in.First, in.FirstSegment)
	return err
}

func (p *inspectText) segment(s wal.SegmentInfo) error {
	positions, notes := "", []string{}
	if s.Records > 0 {
		positions = fmt.Sprintf("%d-%d", s.First, s.Last)
	}
	if s.Was != 0 {
		notes = append(notes, fmt.Sprintf("was %d", s.Was))
	}
	if s.Closed {
		notes = append(notes, "closed")
	}
	if t := s.Torn; t != nil {
		notes = append(notes, fmt.Sprintf("torn from %d on, %d bytes", t.Offset, t.Bytes))
	}
	if s.Err != nil {
		notes = append(notes, s.Err.Error())
	}
	return p.row("segments", "file\tstate\tsize\trecords\tpositions\tpayload\tend\t",
		"%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s", filepath.Base(s.File), s.State, s.Size, s.Records, positions, s.Payload, s.End, strings.Join(notes, ", "))
}

func (p *inspectText) record(r wal.RecordInfo) error {
	return p.row("records", "position\ttype\tsegment\toffset\tback\tlength\tdata",
		"%d\t%s\t%d\t%d\t%d\t%d\t%s", r.Position, r.Type, r.Segment, r.Offset, r.Back, len(r.Data), preview(r))
}

// preview is the beginning of what a record holds.
func preview(r wal.RecordInfo) string {
	const most = 32
	if r.Type != "data" {
		return ""
	}
	if len(r.Data) > most {
		return fmt.Sprintf("%q...", r.Data[:most])
	}
	return fmt.Sprintf("%q", r.Data)
}

func (p *inspectText) verdict(r wal.Report, damage error) error {
	if err := p.end(); err != nil {
		return err
	}
	if damage != nil {
		_, err := fmt.Fprintf(p.w, "\ndamaged: %v\n", damage)
		return err
	}
	state := "not closed"
	if r.Clean {
		state = "closed"
	}
	fmt.Fprintf(p.w, "\nsound, %s: positions %d to before %d, %d bytes verified\n", state, r.First, r.Next, r.Verified)
	if t := r.Torn; t != nil {
		fmt.Fprintf(p.w, "torn: %s from offset %d on, %d bytes (%d whole records); opening the log cuts it\n", t.File, t.Offset, t.Bytes, t.Records)
	}
	if r.HalfMeta {
		fmt.Fprintln(p.w, "one slot of META is damaged; opening the log writes it again")
	}
	return nil
}

// inspectJSON prints for programs, a line each.
type inspectJSON struct{ enc *json.Encoder }

func (p inspectJSON) log(in *wal.Inspection) error {
	return p.enc.Encode(struct {
		Schema   string       `json:"schema"`
		Kind     string       `json:"kind"`
		Dir      string       `json:"dir"`
		ID       string       `json:"id"`
		Version  uint32       `json:"version"`
		First    wal.Position `json:"first"`
		Segment  uint64       `json:"first_segment"`
		Sequence uint64       `json:"sequence"`
		HalfMeta bool         `json:"half_meta"`
		Error    string       `json:"error,omitempty"`
	}{inspectSchema, "log", in.Dir, in.ID, in.Version, in.First, in.FirstSegment, in.Sequence, in.HalfMeta, text(in.MetaErr)})
}

func (p inspectJSON) segment(s wal.SegmentInfo) error {
	return p.enc.Encode(struct {
		Kind    string       `json:"kind"`
		File    string       `json:"file"`
		Number  uint64       `json:"number"`
		State   wal.State    `json:"state"`
		Size    int64        `json:"size"`
		Was     uint64       `json:"was"`
		Salt    string       `json:"salt"` // as text: a float has no room for 64 bits
		First   wal.Position `json:"first"`
		Last    wal.Position `json:"last"`
		Records int64        `json:"records"`
		Payload int64        `json:"payload"`
		End     int64        `json:"end"`
		Closed  bool         `json:"closed"`
		Torn    *inspectTorn `json:"torn,omitempty"`
		Error   string       `json:"error,omitempty"`
	}{"segment", s.File, s.Number, s.State, s.Size, s.Was, fmt.Sprintf("%016x", s.Salt), s.First, s.Last, s.Records, s.Payload, s.End,
		s.Closed, tornJSON(s.Torn), text(s.Err)})
}

func (p inspectJSON) record(r wal.RecordInfo) error {
	return p.enc.Encode(struct {
		Kind     string       `json:"kind"`
		Position wal.Position `json:"position"`
		Type     string       `json:"type"`
		Segment  uint64       `json:"segment"`
		Offset   int64        `json:"offset"`
		Back     int64        `json:"back"`
		Length   int          `json:"length"`
		Data     []byte       `json:"data"` // base64
	}{"record", r.Position, r.Type, r.Segment, r.Offset, r.Back, len(r.Data), r.Data})
}

func (p inspectJSON) verdict(r wal.Report, damage error) error {
	return p.enc.Encode(struct {
		Kind     string       `json:"kind"`
		Sound    bool         `json:"sound"`
		Clean    bool         `json:"clean"`
		First    wal.Position `json:"first"`
		Next     wal.Position `json:"next"`
		Segments int          `json:"segments"`
		Prepared int          `json:"prepared"`
		Verified int64        `json:"verified"`
		Torn     *inspectTorn `json:"torn,omitempty"`
		Error    string       `json:"error,omitempty"`
	}{"verdict", damage == nil, r.Clean, r.First, r.Next, r.Segments, r.Prepared, r.Verified, tornJSON(r.Torn), text(damage)})
}

type inspectTorn struct {
	File    string `json:"file"`
	Offset  int64  `json:"offset"`
	Bytes   int64  `json:"bytes"`
	Records int    `json:"records"`
}

func tornJSON(t *wal.Torn) *inspectTorn {
	if t == nil {
		return nil
	}
	torn := inspectTorn(*t)
	return &torn
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
