package segment2

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"unsafe"
)

const (
	// cardZones and cardTenants are the most zones and tenants that a Card keeps, and
	// cardHashes is of how many tenants it keeps a hash.
	cardZones   = 64
	cardTenants = 16
	cardHashes  = 4096
)

// A Card is what is known of a segment without reading it: 1 to 4 KiB, and 4 bytes
// for each tenant if there are many. It is immutable.
type Card struct {
	info     Info
	salt     uint64
	sections []section
	zones    []zone        // nil if there are more than cardZones, or they lie before the tail
	summary  *summary      // nil: none, so that the segment may have any labels
	tenants  []tenantPlace // nil as zones
	hashes   []uint32      // of the tenants, in order, if these are nil; nil: none
}

// tenantSeed is that of the hashes of cards.
var tenantSeed = maphash.MakeSeed()

func tenantHash(tenant string) uint32 { return uint32(maphash.String(tenantSeed, tenant)) }

func hashTenants(list []tenantPlace) []uint32 {
	hashes := make([]uint32, len(list))
	for i := range list {
		hashes[i] = tenantHash(list[i].tenant)
	}
	slices.Sort(hashes)
	return hashes
}

// OpenCard reads the last 64 KiB of a segment, which has size bytes, and a
// second range if the section table does not fit in. The error is a
// *CorruptError, a *VersionError, or that of the source.
func OpenCard(src Source, size int64) (*Card, error) {
	if size < headerSize+footerSize {
		return nil, corrupt(src, 0, -1, "%d bytes are no segment", size)
	}
	n := min(size, tailSize)
	buf := getBuffer(int(n))
	defer buf.put()
	if err := ReadFull(src, buf.p, size-n, -1); err != nil {
		return nil, err
	}
	f, ver, ok := parseFooter(buf.p[n-footerSize:])
	switch {
	case !ok:
		return nil, corrupt(src, size-footerSize, -1, "the footer is not as it was written")
	case ver != version:
		return nil, &VersionError{File: src.Name(), Version: ver}
	case f.info.Size != size:
		return nil, corrupt(src, size-footerSize, -1, "the file has %d bytes, and had %d", size, f.info.Size)
	case f.table < headerSize || f.table != size-footerSize-int64(f.tableBytes) || f.info.After > f.info.Upto || f.info.Rows < 0 || f.info.Raw < 0:
		return nil, corrupt(src, size-footerSize, -1, "the footer is not well-formed")
	}
	c := &Card{info: f.info, salt: f.salt}
	return c, c.open(src, f, tail{buf.p[:n-footerSize], size - n})
}

// A tail is the end of a file up to its footer.
type tail struct {
	p   []byte
	off int64
}

// at returns n bytes at off; ok is false if the tail does not have them.
func (t tail) at(off, n int64) (p []byte, ok bool) {
	if off < t.off || n > int64(len(t.p))-(off-t.off) {
		return nil, false
	}
	return t.p[off-t.off:][:n], true
}

// open parses the section table, and the sections that a Card keeps.
func (c *Card) open(src Source, f footer, t tail) error {
	table, ok := t.at(f.table, int64(f.tableBytes))
	if !ok {
		if f.tableBytes > MaxRead {
			return corrupt(src, f.table, -1, "the section table has %d bytes; want at most %d", f.tableBytes, MaxRead)
		}
		table = make([]byte, f.tableBytes)
		if err := ReadFull(src, table, f.table, -1); err != nil {
			return err
		}
	}
	if checksum(table) != f.tableSum {
		return corrupt(src, f.table, -1, "the checksum of the section table does not match")
	}
	var err error
	if c.sections, err = parseSections(table, f.table); err != nil {
		return corrupt(src, f.table, -1, "the section table: %v", err)
	}
	for _, s := range c.sections {
		if s.flags&FlagNeeded != 0 && s.kind >= typeEnd {
			return &VersionError{File: src.Name(), Version: version, Section: uint16(s.kind)}
		}
		if s.instance == 0 {
			if err := c.keep(src, s, t); err != nil {
				return err
			}
		}
	}
	if g := c.section(TypeGroups); g != nil {
		c.info.Blocks = int(g.items)
	}
	if c.info.Streams > 0 || c.info.Rows > 0 {
		for _, k := range []Type{TypeLabels, TypeStreams, TypeGroups, TypeZones, TypeTenants} {
			if c.section(k) == nil {
				return corrupt(src, f.table, -1, "the section table has no section %d", k)
			}
		}
	}
	return nil
}

// keep parses a section if a Card has it.
func (c *Card) keep(src Source, s section, t tail) error {
	switch s.kind {
	case TypeOrigin, TypeZones, TypeSummary, TypeTenants:
	default:
		return nil
	}
	p, ok := t.at(s.off, s.bytes)
	if !ok && s.kind != TypeOrigin || s.kind == TypeZones && s.items > cardZones || s.kind == TypeTenants && s.items > cardHashes {
		return nil
	}
	if !ok { // it has 24 bytes, and other sections may be large
		p = make([]byte, min(s.bytes, originSize))
		if err := ReadFull(src, p, s.off, -1); err != nil {
			return err
		}
	}
	raw, err := s.open(p)
	if err == nil {
		switch s.kind {
		case TypeOrigin:
			err = parseOrigin(&c.info, raw)
		case TypeZones:
			c.zones, err = c.parseZones(raw)
		case TypeSummary:
			c.summary, err = parseSummary(raw)
		case TypeTenants:
			if c.tenants, err = c.parseTenants(raw); len(c.tenants) > cardTenants {
				c.tenants, c.hashes = nil, hashTenants(c.tenants)
			}
		}
	}
	if err != nil {
		return corrupt(src, s.off, -1, "section %d: %v", s.kind, err)
	}
	return nil
}

// section returns the first section of a type, or nil.
func (c *Card) section(kind Type) *section {
	for i := range c.sections {
		if c.sections[i].kind == kind {
			return &c.sections[i]
		}
	}
	return nil
}

// parseZones decodes the zones, and compares them with the footer.
func (c *Card) parseZones(p []byte) ([]zone, error) {
	groups, filters := c.section(TypeGroups), c.section(TypeFilters)
	if groups == nil || filters == nil {
		return nil, errForm
	}
	zones, err := parseZones(p, *groups, *filters)
	if err != nil {
		return nil, err
	}
	all := Zone{MinTime: math.MaxInt64, MaxTime: math.MinInt64}
	for i := range zones {
		z := &zones[i]
		if int64(z.High) >= int64(c.info.Streams) {
			return nil, fmt.Errorf("zone %d: stream %d of %d: %w", i, z.High, c.info.Streams, errForm)
		}
		all.Rows += z.Rows
		all.Raw += z.Raw
		all.MinTime, all.MaxTime = min(all.MinTime, z.MinTime), max(all.MaxTime, z.MaxTime)
	}
	if len(zones) == 0 {
		all.MinTime, all.MaxTime = 0, 0
	}
	if i := c.info; all.Rows != i.Rows || all.Raw != i.Raw || all.MinTime != i.MinTime || all.MaxTime != i.MaxTime {
		return nil, errTotals
	}
	return zones, nil
}

// A tenantPlace is what a tenant has in a segment, and where.
type tenantPlace struct {
	tenantRange
	first uint32 // ordinal
	block int    // the first one
}

// parseTenants decodes the tenants.
func (c *Card) parseTenants(p []byte) ([]tenantPlace, error) {
	ranges, err := parseTenants(p, c.info)
	if err != nil {
		return nil, err
	}
	list := make([]tenantPlace, len(ranges))
	streams, blocks := 0, 0
	for i, r := range ranges {
		list[i] = tenantPlace{r, uint32(streams), blocks}
		streams += r.streams
		blocks += r.blocks
	}
	if groups := c.section(TypeGroups); groups == nil || blocks != int(groups.items) {
		return nil, errTotals
	}
	return list, nil
}

// Info describes the segment.
func (c *Card) Info() Info { return c.info }

// Slim returns a Card with the least that one has: zones and tenants are read when
// they are asked for, and nothing is ruled out by labels.
func (c *Card) Slim() *Card {
	info := c.info
	return &Card{info: info, salt: c.salt, sections: c.sections}
}

// Weight returns about how many bytes of memory the card takes.
func (c *Card) Weight() int64 {
	n := int64(unsafe.Sizeof(*c)) + int64(cap(c.sections))*int64(unsafe.Sizeof(section{})) + zoneList(c.zones).Weight() + tenantList(c.tenants).Weight() + 4*int64(cap(c.hashes))
	if c.summary != nil {
		n += c.summary.weight()
	}
	return n
}

// MaySelect reports whether the segment may have streams of the tenant that
// meet all conditions.
func (c *Card) MaySelect(tenant string, conditions []Condition) bool {
	if c.tenants != nil && findTenant(c.tenants, tenant) < 0 {
		return false
	}
	if c.hashes != nil {
		if _, ok := slices.BinarySearch(c.hashes, tenantHash(tenant)); !ok {
			return false
		}
	}
	return c.summary == nil || c.summary.maySelect(conditions)
}

// findTenant returns the place of a tenant in the list, which is in the order of keys, or
// -1.
func findTenant(list []tenantPlace, tenant string) int {
	i, ok := slices.BinarySearchFunc(list, tenant, func(t tenantPlace, tenant string) int {
		return cmp.Or(cmp.Compare(len(t.tenant), len(tenant)), cmp.Compare(t.tenant, tenant))
	})
	if !ok {
		return -1
	}
	return i
}

type zoneList []zone

func (l zoneList) Weight() int64 { return int64(cap(l)) * int64(unsafe.Sizeof(zone{})) }

type tenantList []tenantPlace

func (l tenantList) Weight() int64 {
	n := int64(cap(l)) * int64(unsafe.Sizeof(tenantPlace{}))
	for i := range l {
		n += int64(len(l[i].tenant))
	}
	return n
}

func (s *summary) weight() int64 {
	n := int64(unsafe.Sizeof(*s)) + int64(cap(s.names))*int64(unsafe.Sizeof(summaryName{}))
	for i := range s.names {
		n += int64(len(s.names[i].name) + cap(s.names[i].set))
		for _, v := range s.names[i].values {
			n += int64(unsafe.Sizeof(v)) + int64(len(v))
		}
	}
	return n
}

// maySelect reports whether a stream may meet all conditions.
func (s *summary) maySelect(conditions []Condition) bool {
	for i := range conditions {
		c := &conditions[i]
		if c.Meets("") {
			continue // by streams without the label, and the summary does not tell if there are some
		}
		n, ok := s.find(c.Name)
		switch {
		case !ok && s.complete:
			return false
		case !ok || n.kind == summaryAny:
		case n.kind == summaryList:
			if !slices.ContainsFunc(n.values, c.Meets) {
				return false
			}
		case c.Match == nil && !c.Not:
			if !slices.ContainsFunc(c.Values, func(v string) bool { return s.may(c.Name, v) }) {
				return false
			}
		}
	}
	return true
}
