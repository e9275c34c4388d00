package cli

import (
	"errors"
	"time"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/wal"
)

func (p *inspectJSON) store(in *logstore.Inspection) error {
	line := struct {
		Schema   string       `json:"schema"`
		Kind     string       `json:"kind"`
		Dir      string       `json:"dir"`
		Segments int          `json:"segments"`
		Deleting int          `json:"deletions"` // pending
		Tenants  int          `json:"tenants"`
		Streams  int          `json:"streams"`
		Names    int          `json:"names"`
		Values   int          `json:"values"`
		Items    int64        `json:"items"`
		Log      string       `json:"log"`
		LogID    string       `json:"log_id,omitempty"`
		LogFirst wal.Position `json:"log_first"`
		Error    string       `json:"error,omitempty"` // of the log
	}{p.schema(), "store", in.Dir, len(in.Segments), len(in.Deletions), in.Index.Tenants, in.Index.Streams, in.Index.Names, in.Index.Values, in.Index.Items, in.LogDir, "", 0, text(in.LogErr)}
	if in.Log != nil {
		line.LogID, line.LogFirst = in.Log.ID, in.Log.First
	}
	return p.enc.Encode(line)
}

func (p *inspectJSON) sealed(s logstore.SegmentInfo) error {
	created := ""
	if !s.Created.IsZero() {
		created = s.Created.UTC().Format(time.RFC3339Nano)
	}
	return p.enc.Encode(struct {
		Schema     string `json:"schema,omitempty"`
		Kind       string `json:"kind"`
		File       string `json:"file"`
		Size       int64  `json:"size"`
		After      uint64 `json:"after"`
		Upto       uint64 `json:"upto"`
		Generation uint32 `json:"generation"`
		Created    string `json:"created,omitempty"`
		From       string `json:"from,omitempty"` // times as text: a float has no room for nanoseconds
		To         string `json:"to,omitempty"`
		Entries    int64  `json:"entries"`
		Raw        int64  `json:"raw"`
		Streams    int    `json:"streams"`
		Blocks     int    `json:"blocks"`
		BlockBytes int64  `json:"block_bytes"`
		Filters    int64  `json:"filter_bytes"`
		Leftover   bool   `json:"leftover"`
		Error      string `json:"error,omitempty"`
	}{p.schema(), "sealed", s.File, s.Size, s.After, s.Upto, s.Generation, created, clock(s.MinTime, s.Rows), clock(s.MaxTime, s.Rows),
		s.Rows, s.Raw, s.Streams, s.Blocks, s.BlockBytes, s.FilterBytes, s.Leftover, text(s.Err)})
}

func (p *inspectJSON) stream(s logstore.StreamInfo) error {
	return p.enc.Encode(struct {
		Kind    string          `json:"kind"`
		File    string          `json:"file"`
		Tenant  string          `json:"tenant,omitempty"`
		Labels  logstore.Labels `json:"labels"`
		From    string          `json:"from"`
		To      string          `json:"to"`
		Entries int64           `json:"entries"`
		Raw     int64           `json:"raw"`
		Runs    int             `json:"runs"`
	}{"stream", s.File, s.Tenant, s.Labels, clock(s.MinTime, s.Rows), clock(s.MaxTime, s.Rows), s.Rows, s.Raw, s.Runs})
}

func (p *inspectJSON) block(b logstore.BlockInfo) error {
	return p.enc.Encode(struct {
		Kind         string `json:"kind"`
		File         string `json:"file"`
		Number       int    `json:"number"`
		Offset       int64  `json:"offset"`
		Bytes        int64  `json:"bytes"`
		FilterOffset int64  `json:"filter_offset"`
		FilterBytes  int64  `json:"filter_bytes"`
		From         string `json:"from"`
		To           string `json:"to"`
		Entries      int64  `json:"entries"`
		Raw          int64  `json:"raw"`
		Streams      int    `json:"streams"`
		Codec        string `json:"codec"`
	}{"block", b.File, b.Number, b.Offset, b.Bytes, b.FilterOffset, b.FilterBytes, clock(b.MinTime, b.Rows), clock(b.MaxTime, b.Rows), b.Rows, b.Raw, b.Streams, b.Codec.String()})
}

func (p *inspectJSON) sections(_ logstore.SegmentInfo, list []logstore.SectionInfo) error {
	for _, s := range list {
		err := p.enc.Encode(struct {
			Kind     string `json:"kind"`
			File     string `json:"file"`
			Type     string `json:"type"`
			Instance int    `json:"instance"`
			Items    int64  `json:"items"`
			Offset   int64  `json:"offset"`
			Bytes    int64  `json:"bytes"`
			Raw      int64  `json:"raw"`
			Parts    bool   `json:"parts"`
			Needed   bool   `json:"needed"`
			Kept     bool   `json:"kept"`
		}{"section", s.File, s.Type, s.Instance, s.Items, s.Offset, s.Bytes, s.Raw, s.Parts, s.Needed, s.Kept})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *inspectJSON) tenant(t logstore.TenantRange) error {
	return p.enc.Encode(struct {
		Kind    string `json:"kind"`
		File    string `json:"file"`
		Tenant  string `json:"tenant"`
		From    string `json:"from"`
		To      string `json:"to"`
		Entries int64  `json:"entries"`
		Raw     int64  `json:"raw"`
		Streams int    `json:"streams"`
		Blocks  int    `json:"blocks"`
		Bytes   int64  `json:"bytes"`
		Filters int64  `json:"filter_bytes"`
	}{"tenant", t.File, t.Tenant, clock(t.MinTime, t.Rows), clock(t.MaxTime, t.Rows), t.Rows, t.Raw, t.Streams, t.Blocks, t.Bytes, t.FilterBytes})
}

func (p *inspectJSON) cost(c logstore.Cost, _ logstore.SegmentInfo) error {
	return p.enc.Encode(struct {
		Kind  string `json:"kind"`
		File  string `json:"file"`
		Part  string `json:"part"`
		Bytes int64  `json:"bytes"`
	}{"cost", c.File, c.Part, c.Bytes})
}

func (p *inspectJSON) template(t logstore.TemplateInfo) error {
	return p.enc.Encode(struct {
		Kind      string `json:"kind"`
		File      string `json:"file"`
		Template  string `json:"template"`
		Variables int    `json:"variables"`
		Entries   int64  `json:"entries"`
		Blocks    int    `json:"blocks"`
	}{"template", t.File, t.Text, t.Slots, t.Rows, t.Blocks})
}

func (p *inspectJSON) column(c logstore.ColumnInfo) error {
	return p.enc.Encode(struct {
		Kind    string `json:"kind"`
		File    string `json:"file"`
		Type    string `json:"type"`
		Columns int    `json:"columns"`
		Values  int64  `json:"values"`
		Bytes   int64  `json:"bytes"`
	}{"column", c.File, c.Kind, c.Columns, c.Values, c.Bytes})
}

func (p *inspectJSON) deletion(d logstore.PendingDeletion) error {
	var lines []string
	for _, l := range d.Lines {
		lines = append(lines, l.String())
	}
	return p.enc.Encode(struct {
		Kind     string   `json:"kind"`
		Tenant   string   `json:"tenant"`
		Selector string   `json:"selector"`
		Lines    []string `json:"lines,omitempty"` // conditions on lines; without: all of them
		From     string   `json:"from,omitempty"`
		To       string   `json:"to,omitempty"` // without: no end
		Position uint64   `json:"position"`
		Time     string   `json:"time"`
		Segments int      `json:"segments"`
		Bytes    int64    `json:"bytes"`
	}{"deletion", d.Tenant, d.Selector.String(), lines, clock(d.From, d.From), clock(d.To, d.To), d.Position, d.Time.UTC().Format(time.RFC3339), d.Segments, d.Bytes})
}

func (p *inspectJSON) quarantined(q logstore.QuarantinedFile) error {
	return p.enc.Encode(struct {
		Kind   string `json:"kind"`
		File   string `json:"file"`
		Size   int64  `json:"size"`
		Report string `json:"report,omitempty"`
	}{"quarantined", q.File, q.Size, q.Report})
}

func (p *inspectJSON) lost(err error) error { return p.place("lost", err) }

func (p *inspectJSON) other(err error) error { return p.place("other_log", err) }

func (p *inspectJSON) damage(err error) error { return p.place("damage", err) }

// place prints an error of a place in a file.
func (p *inspectJSON) place(kind string, err error) error {
	line := struct {
		Kind   string `json:"kind"`
		File   string `json:"file,omitempty"`
		Offset int64  `json:"offset"`
		Error  string `json:"error"`
	}{Kind: kind, Error: err.Error()}
	if c, ok := errors.AsType[*logstore.CorruptError](err); ok {
		line.File, line.Offset = c.File, c.Offset
	} else if c, ok := errors.AsType[*wal.CorruptError](err); ok {
		line.File, line.Offset = c.File, c.Offset
	} else if m, ok := errors.AsType[*logstore.MissingError](err); ok {
		line.File = m.File
	} else if o, ok := errors.AsType[*logstore.OtherLogError](err); ok {
		line.File = o.File
	}
	return p.enc.Encode(line)
}

func (p *inspectJSON) storeVerdict(v *logstore.Verification) error {
	t := totalOf(v)
	return p.enc.Encode(struct {
		Kind     string       `json:"kind"`
		Sound    bool         `json:"sound"`
		Segments int          `json:"segments"`
		Blocks   int          `json:"blocks"`
		Entries  int64        `json:"entries"`
		Verified int64        `json:"verified"` // bytes of segments and log
		Damaged  int          `json:"damaged"`
		Missing  int          `json:"missing"`   // segments
		Others   int          `json:"other_log"` // segments that are not of the log, and not served
		First    wal.Position `json:"log_first"`
		Next     wal.Position `json:"log_next"`
		Torn     *inspectTorn `json:"torn,omitempty"`
	}{"verdict", t.damaged == 0 && len(v.Missing) == 0 && t.others == 0 && v.Torn == nil, len(v.Segments), t.blocks, t.rows, t.bytes + v.Log.Verified, t.damaged, len(v.Missing), t.others, v.Log.First, v.Log.Next, tornJSON(v.Log.Torn)})
}
