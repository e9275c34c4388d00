package logstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A TenantInfo says what a store has of a tenant.
type TenantInfo struct {
	Name    string // AppendOptions.Tenant
	Entries int64
	Lines   int64 // bytes of lines and metadata
	// SegmentBytes are those of blocks and filters in segments, compressed.
	SegmentBytes int64
	// Streams is the most streams that a segment, or a memtable, has of the
	// tenant; most of them have mostly the same ones.
	Streams int
	// MinTime and MaxTime are those of the first and the last entry, in
	// nanoseconds since the Unix epoch.
	MinTime, MaxTime int64
}

// Tenants returns the tenants that have entries, by name: the first limit of those
// whose name is not less than from. It reads an index of each segment, and no
// entry. Its memory is that of twice as many tenants, and of the index of a
// segment.
//
// If there are more, the error is ErrMore; the others follow from the last name
// and "\x00" on. If an index cannot be read, what the others have is counted, and
// the error wraps a *CorruptError for each of them; during replay it wraps
// ErrReplaying, and ErrIncomplete where Query ends with that. These are the only errors that come with tenants.
func (s *Store) Tenants(ctx context.Context, from string, limit int) ([]TenantInfo, error) {
	if err := setting.AtLeast("logstore: Tenants: limit", limit, 1); err != nil {
		return nil, err
	}
	list, err := s.tenantList(ctx, from, limit)
	if err != nil {
		err = s.opError("tenants of", err)
	}
	return list, err
}

func (s *Store) tenantList(ctx context.Context, from string, limit int) ([]TenantInfo, error) {
	if s.log == nil {
		return nil, errUnopened
	}
	v, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	c := tenantCounts{from: from, limit: limit, of: map[string]*TenantInfo{}}
	var bad []error
	for seg := range v.segs.Segments() {
		totals, err := seg.Tenants(ctx)
		if _, damaged := asDamage(err); damaged {
			bad = append(bad, exportError(err))
		} else if err != nil {
			return nil, err
		}
		for i := range totals {
			c.addSegment(&totals[i])
		}
	}
	for _, m := range v.mems {
		c.addMemtable(m)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if v.partial != nil {
		bad = append(bad, v.partial)
	}
	list := c.list()
	if c.more {
		bad = append([]error{ErrMore}, bad...)
	}
	return list, errors.Join(bad...)
}

// tenantCounts counts what each tenant has.
type tenantCounts struct {
	from  string
	limit int
	of    map[string]*TenantInfo
	more  bool // some tenants were left out
}

// get returns the counts of a tenant, or nil if it is not asked for.
func (c *tenantCounts) get(name string) *TenantInfo {
	if name < c.from {
		return nil
	}
	t := c.of[name]
	if t == nil {
		if len(c.of) >= 2*c.limit+16 {
			c.list()
		}
		t = &TenantInfo{Name: strings.Clone(name), MinTime: noTime}
		c.of[t.Name] = t
	}
	return t
}

// list returns the counts by name, and forgets those beyond the limit.
func (c *tenantCounts) list() []TenantInfo {
	names := slices.Sorted(maps.Keys(c.of))
	if len(names) > c.limit {
		c.more = true
		for _, name := range names[c.limit:] {
			delete(c.of, name)
		}
		names = names[:c.limit]
	}
	list := make([]TenantInfo, len(names))
	for i, name := range names {
		list[i] = *c.of[name]
	}
	return list
}

func (t *TenantInfo) add(totals rowTotals) {
	if t.MinTime == noTime {
		t.MinTime, t.MaxTime = totals.min, totals.max
	}
	t.MinTime, t.MaxTime = min(t.MinTime, totals.min), max(t.MaxTime, totals.max)
	t.Entries += totals.rows
	t.Lines += totals.raw
}

func (c *tenantCounts) addSegment(of *segment2.TenantTotals) {
	if of.Rows == 0 {
		return
	}
	if t := c.get(of.Tenant); t != nil {
		t.add(rowTotals{of.MinTime, of.MaxTime, of.Rows, of.Raw})
		t.SegmentBytes += of.Bytes
		t.Streams = max(t.Streams, of.Streams)
	}
}

func (c *tenantCounts) addMemtable(m *memtable) {
	streams := map[*tenant]int{}
	for _, h := range m.streams.All() {
		totals := h.totals()
		if totals.rows == 0 {
			continue
		}
		if t := c.get(h.of.tenant.name); t != nil {
			t.add(totals)
			streams[h.of.tenant]++
			t.Streams = max(t.Streams, streams[h.of.tenant])
		}
	}
}

// tenantNames returns the names of all tenants, in order. What damage hides is not
// told: a query of any tenant tells it.
func (s *Store) tenantNames(ctx context.Context) ([]string, error) {
	var names []string
	for from := ""; ; {
		const atOnce = 1 << 10
		list, err := s.tenantList(ctx, from, atOnce)
		if list == nil && err != nil {
			return nil, err
		}
		for i := range list {
			names = append(names, list[i].Name)
		}
		if !errors.Is(err, ErrMore) {
			return names, nil
		}
		from = names[len(names)-1] + "\x00"
	}
}
