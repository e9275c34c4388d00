package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/logstore"
)

func (p *inspectText) store(in *logstore.Inspection) error {
	var rows, raw, size, blocks int64
	for _, s := range in.Segments {
		if !s.Leftover {
			rows, raw, size, blocks = rows+s.Rows, raw+s.Raw, size+s.Size, blocks+int64(s.Blocks)
		}
	}
	fmt.Fprintf(p.w, "store in %s\n%d segments, %d blocks, %d entries, %d bytes of lines in %d\n", in.Dir, len(in.Segments), blocks, rows, raw, size)
	tenants := ""
	if in.Index.Tenants > 1 {
		tenants = fmt.Sprintf(" of %d tenants", in.Index.Tenants)
	}
	fmt.Fprintf(p.w, "index: %d streams%s, %d names and %d values of labels, %d items\n", in.Index.Streams, tenants, in.Index.Names, in.Index.Values, in.Index.Items)
	if n := len(in.Deletions); n > 0 {
		fmt.Fprintf(p.w, "%d deletions are pending: deleted entries are counted too\n", n)
	}
	if in.LogErr != nil {
		_, err := fmt.Fprintf(p.w, "log: %v\n", in.LogErr)
		return err
	}
	_, err := fmt.Fprintf(p.w, "log %s in %s begins at position %d\n", in.Log.ID, in.LogDir, in.Log.First)
	return err
}

func (p *inspectText) sealed(s logstore.SegmentInfo) error {
	var notes []string
	if s.Leftover {
		notes = append(notes, "leftover of a compaction")
	}
	if s.Err != nil {
		notes = append(notes, s.Err.Error())
	}
	positions := "" // unknown if the segment cannot be read
	if s.Size > 0 {
		positions = fmt.Sprintf("%d-%d", s.After+1, s.Upto)
	}
	return p.row("sealed", "segment\tpositions\tgeneration\tfrom\tto\tentries\tstreams\tblocks\tlines\tsize\tratio\tfilters\t",
		"%s\t%s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%s", filepath.Base(s.File), positions, s.Generation, clock(s.MinTime, s.Rows), clock(s.MaxTime, s.Rows),
		s.Rows, s.Streams, s.Blocks, s.Raw, s.Size, packed(s.Raw, s.Size), s.FilterBytes, strings.Join(notes, ", "))
}

func (p *inspectText) stream(s logstore.StreamInfo) error {
	name := s.Labels.String()
	if s.Tenant != "" {
		name += fmt.Sprintf(" of tenant %q", s.Tenant)
	}
	return p.row("streams of "+s.File, "streams of "+filepath.Base(s.File)+"\tfrom\tto\tentries\tlines\truns",
		"%s\t%s\t%s\t%d\t%d\t%d", name, clock(s.MinTime, s.Rows), clock(s.MaxTime, s.Rows), s.Rows, s.Raw, s.Runs)
}

func (p *inspectText) block(b logstore.BlockInfo) error {
	return p.row("blocks of "+b.File, "blocks of "+filepath.Base(b.File)+"\toffset\tfrom\tto\tentries\tstreams\tlines\tsize\tratio\tfilter\tcodec",
		"%d\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%d\t%v", b.Number, b.Offset, clock(b.MinTime, b.Rows), clock(b.MaxTime, b.Rows), b.Rows, b.Streams,
		b.Raw, b.Bytes, packed(b.Raw, b.Bytes), b.FilterBytes, b.Codec)
}

// sections prints all of the file: the blocks before the sections too, and what is not
// part of either.
func (p *inspectText) sections(s logstore.SegmentInfo, list []logstore.SectionInfo) error {
	row := func(what string, items any, offset, bytes, raw int64, flags ...string) error {
		share := 100 * float64(bytes) / float64(max(s.Size, 1))
		return p.row("sections of "+s.File, "sections of "+filepath.Base(s.File)+"\titems\toffset\tbytes\tshare\tratio\tflags",
			"%s\t%v\t%d\t%d\t%.1f%%\t%s\t%s", what, items, offset, bytes, share, packed(raw, bytes), strings.Join(flags, ", "))
	}
	rest := s.Size - s.BlockBytes
	err := row("(blocks)", s.Blocks, 0, s.BlockBytes, s.Raw)
	for _, n := range list {
		what := n.Type
		if n.Instance > 0 {
			what = fmt.Sprint(what, " ", n.Instance)
		}
		var flags []string
		for _, f := range []struct {
			set  bool
			name string
		}{{n.Parts, "parts"}, {n.Needed, "needed"}, {n.Kept, "kept"}} {
			if f.set {
				flags = append(flags, f.name)
			}
		}
		err = errors.Join(err, row(what, n.Items, n.Offset, n.Bytes, n.Raw, flags...))
		rest -= n.Bytes
	}
	return errors.Join(err, row("(header, table, footer)", "", 0, rest, 0))
}

func (p *inspectText) tenant(t logstore.TenantRange) error {
	return p.row("tenants of "+t.File, "tenants of "+filepath.Base(t.File)+"\tfrom\tto\tentries\tstreams\tblocks\tlines\tsize\tfilters",
		"%q\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d", t.Tenant, clock(t.MinTime, t.Rows), clock(t.MaxTime, t.Rows), t.Rows, t.Streams, t.Blocks,
		t.Raw, t.Bytes, t.FilterBytes)
}

func (p *inspectText) cost(c logstore.Cost, s logstore.SegmentInfo) error {
	return p.row("costs of "+c.File, "costs of "+filepath.Base(c.File)+"\tbytes\tshare\tan entry",
		"%s\t%d\t%.1f%%\t%.3f", c.Part, c.Bytes, 100*float64(c.Bytes)/float64(max(s.Size, 1)), float64(c.Bytes)/float64(max(s.Rows, 1)))
}

func (p *inspectText) template(t logstore.TemplateInfo) error {
	return p.row("templates of "+t.File, "templates of "+filepath.Base(t.File)+"\tentries\tblocks\tvariables", "%.200q\t%d\t%d\t%d", t.Text, t.Rows, t.Blocks, t.Slots)
}

func (p *inspectText) column(c logstore.ColumnInfo) error {
	return p.row("columns of "+c.File, "columns of "+filepath.Base(c.File)+"\tcolumns\tvalues\tbytes\ta value",
		"%s\t%d\t%d\t%d\t%.2f", c.Kind, c.Columns, c.Values, c.Bytes, float64(c.Bytes)/float64(max(c.Values, 1)))
}

func (p *inspectText) deletion(d logstore.PendingDeletion) error {
	of := d.Selector.String()
	for _, l := range d.Lines {
		of += " " + l.String()
	}
	return p.row("deletions", "pending deletion of\ttenant\tfrom\tto\tposition\tacknowledged\tsegments\tsize",
		"%s\t%q\t%s\t%s\t%d\t%s\t%d\t%d", of, d.Tenant, clock(d.From, d.From), clock(d.To, d.To), d.Position, d.Time.UTC().Format(time.RFC3339), d.Segments, d.Bytes)
}

func (p *inspectText) quarantined(q logstore.QuarantinedFile) error {
	report := "no report"
	if q.Report != "" {
		report = filepath.Base(q.Report)
	}
	return p.row("quarantine", "in quarantine\tsize\treport", "%s\t%d\t%s", filepath.Base(q.File), q.Size, report)
}

func (p *inspectText) lost(err error) error { return p.place("lost", err) }

func (p *inspectText) other(err error) error { return p.place("other log", err) }

func (p *inspectText) damage(err error) error { return p.place("damaged", err) }

// place prints an error of a place in a file.
func (p *inspectText) place(what string, err error) error {
	if err := p.end(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "\n%s: %v\n", what, err)
	return err
}

func (p *inspectText) storeVerdict(v *logstore.Verification) error {
	if err := p.end(); err != nil {
		return err
	}
	t := totalOf(v)
	var found []string
	if t.damaged > 0 {
		found = append(found, fmt.Sprintf("damaged: %d places, in %d of %d segments\n", t.damaged, t.bad, len(v.Segments)))
	} else if n := len(v.Missing); n > 0 {
		found = append(found, fmt.Sprintf("missing: %d segments, or parts of them\n", n))
	} else if n := t.others; n > 0 {
		found = append(found, fmt.Sprintf("not of this log: %d segments, which are not served\n", n))
	}
	if t := v.Torn; t != nil {
		found = append(found, fmt.Sprintf("torn: %s from offset %d on, %d bytes, with %s behind one that is not whole; opening the store cuts them, and keeps a copy in quarantine\n", t.File, t.Offset, t.Bytes, units.Count(t.Records, "whole record")))
	}
	if len(found) > 0 {
		_, err := fmt.Fprintf(p.w, "\n%s", strings.Join(found, ""))
		return err
	}
	_, err := fmt.Fprintf(p.w, "\nsound: %d segments, %d blocks, %d entries, %d bytes verified\n", len(v.Segments), t.blocks, t.rows, t.bytes)
	if v.Log.Next > 0 {
		fmt.Fprintf(p.w, "log: positions %d to before %d, %d bytes verified\n", v.Log.First, v.Log.Next, v.Log.Verified)
	}
	if torn := v.Log.Torn; torn != nil {
		fmt.Fprintf(p.w, "torn: %s from offset %d on, %d bytes; opening the store cuts it\n", torn.File, torn.Offset, torn.Bytes)
	}
	return err
}

// verifyTotal has the sums of a verification over all segments.
type verifyTotal struct {
	bytes, rows  int64
	blocks       int
	damaged, bad int // places, and segments that have them
	others       int // segments that are not of the log, and not served
}

func totalOf(v *logstore.Verification) (t verifyTotal) {
	for _, s := range v.Segments {
		t.bytes += s.Size
		t.rows += s.Rows
		t.blocks += s.Blocks
		t.damaged += len(s.Damage)
		if len(s.Damage) > 0 {
			t.bad++
		}
	}
	for _, o := range v.OtherLog {
		if !o.Served {
			t.others++
		}
	}
	if v.LogErr != nil {
		t.damaged++
	}
	return t
}

// clock formats a time of entries, "" if there are none.
func clock(ns, entries int64) string {
	if entries == 0 {
		return ""
	}
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}

// packed formats the compression ratio.
func packed(raw, size int64) string {
	if size == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(raw)/float64(size))
}
