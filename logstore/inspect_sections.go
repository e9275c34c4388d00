package logstore

import (
	"fmt"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A SectionInfo describes a section of a segment of version 2: what lies behind its
// blocks.
type SectionInfo struct {
	File string // the segment
	// Type names what it has: labels, postings, filters, zones and others. Instance
	// tells those of one type apart.
	Type     string
	Instance int
	Items    int64 // of what it is a list of
	Offset   int64
	Bytes    int64 // as stored
	Raw      int64 // before compression, 0 if its parts are compressed each
	// Parts: it has parts, which are read one by one. Needed: a version that does not
	// know the type refuses the segment. Kept: one that does not know the type copies it
	// in a compaction.
	Parts, Needed, Kept bool
}

// A TenantRange describes what a segment has of a tenant: blocks that lie together.
type TenantRange struct {
	File               string // the segment
	Tenant             string
	Streams, Blocks    int
	Bytes, FilterBytes int64 // of its blocks, and of their filters
	Rows, Raw          int64 // entries, and bytes of their lines and metadata
	MinTime, MaxTime   int64 // ns since 1970, of the first and the last entry; 0 without one
}

// Sections returns the sections of the segment, in the order of the file. One of
// version 1 has none, and those of one whose end is damaged are not known.
func (s *SegmentInspection) Sections() (list []SectionInfo) {
	c, ok := s.content.(*indexContent)
	if !ok || c.card == nil {
		return nil
	}
	for _, n := range c.card.Sections() {
		list = append(list, SectionInfo{
			File: s.File, Type: n.Type.String(), Instance: int(n.Instance), Items: int64(n.Items), Offset: n.Offset, Bytes: n.Bytes, Raw: n.Raw,
			Parts: n.Parts, Needed: n.Flags&segment2.FlagNeeded != 0, Kept: n.Flags&segment2.FlagKept != 0,
		})
	}
	return list
}

// Tenants returns what the segment has of each tenant, in the order of its blocks. As
// for Sections, one of version 1 tells nothing. The error is a *CorruptError, or that of
// the file system.
func (s *SegmentInspection) Tenants() (list []TenantRange, err error) {
	if s.content == nil {
		return nil, fmt.Errorf("logstore: %w", errUnopened)
	}
	c, ok := s.content.(*indexContent)
	if !ok || c.card == nil {
		return nil, nil
	}
	found, err := c.card.TenantRanges(s.file)
	if err != nil {
		return nil, exportError(err)
	}
	for _, t := range found {
		list = append(list, TenantRange{
			File: s.File, Tenant: t.Tenant, Streams: t.Streams, Blocks: t.Blocks, Bytes: t.Bytes, FilterBytes: t.Filters,
			Rows: t.Rows, Raw: t.Raw, MinTime: t.MinTime, MaxTime: t.MaxTime,
		})
	}
	return list, nil
}
