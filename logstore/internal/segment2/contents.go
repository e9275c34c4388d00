package segment2

import "fmt"

// A SectionInfo is an entry of the section table.
type SectionInfo struct {
	Type     Type
	Flags    Flags
	Parts    bool // it has parts, and a table of them
	Instance uint32
	Items    uint32
	Offset   int64
	Bytes    int64 // as stored
	Raw      int64 // before compression, 0 with Parts
}

// Sections returns the section table, in the order of the file.
func (c *Card) Sections() []SectionInfo {
	list := make([]SectionInfo, len(c.sections))
	for i, s := range c.sections {
		list[i] = SectionInfo{
			Type: s.kind, Flags: s.flags &^ flagParts, Parts: s.flags&flagParts != 0, Instance: s.instance, Items: s.items,
			Offset: s.off, Bytes: s.bytes, Raw: s.raw,
		}
		if list[i].Parts {
			list[i].Raw = 0
		}
	}
	return list
}

// typeNames has the names of the types that are known.
var typeNames = [...]string{
	TypeLabels: "labels", TypeParity: "parity", TypePostings: "postings", TypeStreamFilter: "stream filter", TypeStreams: "streams",
	TypeGroups: "groups", TypeZones: "zones", TypeFilters: "filters", TypeSummary: "summary", TypeTenants: "tenants",
	TypeRoster: "roster", TypeKeys: "keys", TypeSources: "sources", TypeDeletes: "deletes", TypeLosses: "losses",
	TypeDictionary: "dictionary", TypeOrigin: "origin", TypeTables: "tables", TypeDictionaryFrame: "dictionary frame",
}

// String returns the name of the type, or its number.
func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
	}
	return fmt.Sprint("type ", uint16(t))
}

// A TenantRange is what a segment has of a tenant, whose blocks lie together.
type TenantRange struct {
	Tenant           string
	Streams, Blocks  int
	Bytes, Filters   int64 // of its blocks and of their filters
	Rows, Raw        int64
	MinTime, MaxTime int64 // 0 without rows
}

// TenantRanges reads what the segment has of each tenant, in the order of its blocks. The error is
// a *CorruptError, or that of the source.
func (c *Card) TenantRanges(src Source) ([]TenantRange, error) {
	s := c.section(TypeTenants)
	if s == nil {
		return nil, nil
	}
	if s.bytes > MaxRead {
		return nil, corrupt(src, s.off, -1, "section %d has %d bytes; want at most %d", s.kind, s.bytes, MaxRead)
	}
	p := make([]byte, s.bytes)
	if err := ReadFull(src, p, s.off, -1); err != nil {
		return nil, err
	}
	raw, err := s.open(p)
	var found []tenantRange
	if err == nil {
		found, err = parseTenants(raw, c.info)
	}
	if err != nil {
		return nil, corrupt(src, s.off, -1, "section %d: %v", s.kind, err)
	}
	list := make([]TenantRange, len(found))
	for i, r := range found {
		list[i] = TenantRange{r.tenant, r.streams, r.blocks, r.frames, r.filters, r.rows, r.raw, r.minTime, r.maxTime}
	}
	return list, nil
}
