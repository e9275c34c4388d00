package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/stele-go/stele/wal"
)

// inspectText prints for people.
type inspectText struct {
	w     io.Writer
	table *tabwriter.Writer
	rows  string // the kind of the table
}

// row prints a row of the table of a kind, whose first row is head.
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
	if s.RecycledFrom != 0 {
		notes = append(notes, fmt.Sprintf("was %d", s.RecycledFrom))
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

// preview returns the beginning of the data of a record.
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
	if r.SetAside > 0 {
		fmt.Fprintf(p.w, "prepared segments that are damaged, and were never used: %d; opening the log makes new ones\n", r.SetAside)
	}
	if r.MetaDegraded {
		fmt.Fprintln(p.w, "one slot of META is damaged; opening the log writes it again")
	}
	return nil
}
