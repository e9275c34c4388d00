package cli

import (
	"encoding/json"
	"fmt"

	"github.com/stele-go/stele/wal"
)

// inspectJSON prints for programs, an object a line.
type inspectJSON struct {
	enc  *json.Encoder
	more bool // the first line, with the schema, has been written
}

// schema returns the schema for the first line, "" for the others.
func (p *inspectJSON) schema() string {
	if p.more {
		return ""
	}
	p.more = true
	return inspectSchema
}

func (p *inspectJSON) log(in *wal.Inspection) error {
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
	}{p.schema(), "log", in.Dir, in.ID, in.Version, in.First, in.FirstSegment, in.Sequence, in.MetaDegraded, text(in.MetaErr)})
}

func (p *inspectJSON) segment(s wal.SegmentInfo) error {
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
	}{"segment", s.File, s.Number, s.State, s.Size, s.RecycledFrom, fmt.Sprintf("%016x", s.Salt), s.First, s.Last, s.Records, s.Payload, s.End,
		s.Closed, tornJSON(s.Torn), text(s.Err)})
}

func (p *inspectJSON) record(r wal.RecordInfo) error {
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

func (p *inspectJSON) verdict(r wal.Report, damage error) error {
	return p.enc.Encode(struct {
		Kind     string       `json:"kind"`
		Sound    bool         `json:"sound"`
		Clean    bool         `json:"clean"`
		First    wal.Position `json:"first"`
		Next     wal.Position `json:"next"`
		Segments int          `json:"segments"`
		Prepared int          `json:"prepared"`
		SetAside int          `json:"set_aside,omitempty"`
		Verified int64        `json:"verified"`
		Torn     *inspectTorn `json:"torn,omitempty"`
		Error    string       `json:"error,omitempty"`
	}{"verdict", damage == nil, r.Clean, r.First, r.Next, r.Segments, r.Prepared, r.SetAside, r.Verified, tornJSON(r.Torn), text(damage)})
}

type inspectTorn struct {
	File     string       `json:"file"`
	Offset   int64        `json:"offset"`
	Bytes    int64        `json:"bytes"`
	Records  int          `json:"records"`
	Position wal.Position `json:"position"`
}

func tornJSON(t *wal.TornTail) *inspectTorn {
	if t == nil {
		return nil
	}
	return &inspectTorn{t.File, t.Offset, t.Bytes, t.Records, t.Position}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
