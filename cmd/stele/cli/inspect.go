package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/wal"
)

// inspectSchema names the layout of the lines of --json. The number grows when
// a reader of the old layout would misread the new one.
const inspectSchema = "stele.inspect/1"

const inspectUsage = `Usage: stele inspect PATH [flags]

Shows the content of PATH, and verifies every checksum. PATH is the directory of
a log store (package logstore), one of its segments, or the directory of a
write-ahead log (package wal), such as the directory wal of a store. It writes
nothing and takes no lock, so it works beside a process that has PATH open; it
then shows a slightly older state, and the tail of a log may look torn while it
is written.

It exits with 1 if PATH is damaged, lacks a segment or cannot be read, and if the
log of a store ends in a torn tail that has whole records: opening the store cuts
them, and keeps a copy in quarantine. Another torn tail is not damage, as each
crash may leave one. Nor are segments in quarantine.

With --json each line is an object with a kind. A log has one "log", a "segment"
for each file, and with --records a "record" for each record. A store has one
"store", a "sealed" for each segment, a "deletion" for each deletion of which
there may still be entries, which are counted, and a "quarantined" for each
segment in quarantine. A segment, in a store or alone, has with --streams a "stream" for
each stream, with --blocks a "block" for each block, and with --sections a
"section" for each section of its end and a "tenant" for each tenant. With --templates it
has a "cost" for each part, a "template" for what lines have in common, and a "column"
for each type of columns, which have what changes in lines. If its index is damaged,
each part of it that cannot be read is a "lost". Each damaged place of a store or
a segment is a "damage". The last line is a "verdict".

Examples:
  stele inspect store
  stele inspect store --blocks --json -
  stele inspect store/segments/0000000000000000-0000000000000004-00000000.seg --streams
  stele inspect store --sections
  stele inspect store --templates
  stele inspect log
  stele inspect log --records --from 2
  stele inspect log --records --json -
`

func inspect(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele inspect", inspectUsage)
	var o inspectOptions
	f.BoolVar(&o.streams, "streams", false, "list the streams of each segment")
	f.BoolVar(&o.blocks, "blocks", false, "list the blocks of each segment")
	f.BoolVar(&o.sections, "sections", false, "list the sections of the end of each segment, and its tenants")
	f.BoolVar(&o.templates, "templates", false, "list what lines of each segment have in common, the columns of what changes, and what each part takes")
	f.BoolVar(&o.records, "records", false, "also list the records of a log")
	f.Uint64Var(&o.from, "from", 0, "list the records from position `N` on; needs --records")
	file := f.String("json", "", "write lines of JSON to `FILE` instead of text; - is standard output")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	wrong := func(err error) int { return usageError(stderr, "stele inspect", exitUsage, err) }
	switch {
	case f.NArg() != 1:
		return wrong(argCount(f, "PATH", 1, 1))
	case f.Changed("from") && !o.records:
		return wrong(errors.New("--from: want --records with it"))
	}
	inspectPath, err := o.inspector(ctx, f.Arg(0), stderr)
	if err != nil {
		return wrong(err)
	}
	if *file == "" {
		err = inspectPath(&inspectText{w: stdout})
	} else {
		err = writeFile(*file, stdout, func(w io.Writer) error { return inspectPath(&inspectJSON{enc: json.NewEncoder(w)}) })
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err != nil:
		return failed(stderr, "stele inspect", err)
	}
	return exitOK
}

// inspectOptions select the parts to print.
type inspectOptions struct {
	streams, blocks, sections, templates, records bool
	from                                          uint64
}

// inspector returns the function that inspects path, a store, a segment or a
// log. The error is about options that do not suit it.
func (o inspectOptions) inspector(ctx context.Context, path string, stderr io.Writer) (func(inspectPrinter) error, error) {
	isStore, isSegment, err := kindOf(path)
	if err != nil {
		return func(inspectPrinter) error { return err }, nil
	}
	switch {
	case (isStore || isSegment) && o.records:
		return nil, errors.New("--records: want the directory of a log; that of a store is its directory wal")
	case !isStore && !isSegment && (o.streams || o.blocks || o.sections || o.templates):
		return nil, errors.New("--streams, --blocks, --sections and --templates: want a store or a segment")
	case isStore:
		return func(p inspectPrinter) error { return inspectStore(ctx, path, o, p, stderr) }, nil
	case isSegment:
		return func(p inspectPrinter) error { return inspectSegment(ctx, path, o, p, stderr) }, nil
	}
	return func(p inspectPrinter) error { return inspectLog(ctx, path, o.records, wal.Position(o.from), p) }, nil
}

// kindOf reports whether path is a store, or a file and so perhaps a segment.
// Otherwise it may be a log.
func kindOf(path string) (store, segment bool, err error) {
	fi, err := os.Stat(path)
	if err != nil || !fi.IsDir() {
		return false, err == nil, err
	}
	for _, name := range []string{"segments", "wal", "quarantine"} { // the others may be gone
		if fi, err = os.Stat(filepath.Join(path, name)); err == nil && fi.IsDir() {
			return true, false, nil
		}
	}
	return false, false, nil
}

// An inspectPrinter prints a log or a store, part by part.
type inspectPrinter interface {
	log(*wal.Inspection) error
	segment(wal.SegmentInfo) error
	record(wal.RecordInfo) error
	verdict(wal.Report, error) error

	store(*logstore.Inspection) error
	sealed(logstore.SegmentInfo) error
	stream(logstore.StreamInfo) error
	block(logstore.BlockInfo) error
	sections(logstore.SegmentInfo, []logstore.SectionInfo) error
	tenant(logstore.TenantRange) error
	cost(logstore.Cost, logstore.SegmentInfo) error
	template(logstore.TemplateInfo) error
	column(logstore.ColumnInfo) error
	deletion(logstore.PendingDeletion) error
	quarantined(logstore.QuarantinedFile) error
	lost(error) error
	other(error) error // a segment that is not of the log
	damage(error) error
	storeVerdict(*logstore.Verification) error
}

// inspectLog prints the log in dir. The error is the damage, or that of reading
// or printing.
func inspectLog(ctx context.Context, dir string, records bool, from wal.Position, p inspectPrinter) error {
	in, err := wal.Inspect(dir)
	if err != nil {
		return fmt.Errorf("%s: not a log store, as it has no directory segments; as a log: %w", dir, err)
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
				break // the verdict has it
			}
			if err := errors.Join(p.record(r), ctx.Err()); err != nil {
				return err
			}
		}
	}
	rep, damage := wal.Verify(dir)
	return errors.Join(p.verdict(rep, damage), damage)
}
