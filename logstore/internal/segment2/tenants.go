package segment2

import (
	"context"
	"encoding/binary"
	"math"
)

// A tenantRange is what a segment has of a tenant. Its streams, its blocks and
// the bytes of these are contiguous, and follow those of the tenant before.
type tenantRange struct {
	tenant           string
	streams, blocks  int
	frames, filters  int64 // bytes
	rows, raw        int64
	minTime, maxTime int64 // 0 without rows
}

// appendTenants appends the section tenants of a segment with this MinTime.
func appendTenants(dst []byte, tenants []tenantRange, base int64) []byte {
	for _, r := range tenants {
		dst = append(append(dst, byte(len(r.tenant))), r.tenant...)
		for _, v := range [...]int64{int64(r.streams), int64(r.blocks), r.frames, r.filters, r.rows, r.raw} {
			dst = binary.AppendUvarint(dst, uint64(v))
		}
		if r.rows > 0 {
			dst = appendZigzag(dst, r.minTime-base)
			dst = binary.AppendUvarint(dst, uint64(r.maxTime-r.minTime))
		}
	}
	return dst
}

// minTenant is the least that a tenant takes.
const minTenant = 7

// parseTenants decodes the section tenants, and compares it with the totals of
// the segment.
func parseTenants(p []byte, info Info) ([]tenantRange, error) {
	list := make([]tenantRange, 0, len(p)/minTenant)
	c := decoder{p: p}
	var all tenantRange
	last := []byte(nil)
	for c.left() > 0 {
		r := tenantRange{tenant: string(c.take(uint64(c.byte())))}
		key := appendKey(nil, r.tenant, "")
		if last != nil && string(key) <= string(last) {
			return nil, errForm
		}
		last = key
		r.streams, r.blocks = int(c.atMost(math.MaxUint32)), int(c.atMost(math.MaxInt32))
		for _, v := range [...]*int64{&r.frames, &r.filters, &r.rows, &r.raw} {
			*v = int64(c.atMost(math.MaxInt64 / 4))
		}
		if r.rows > 0 {
			r.minTime = info.MinTime + c.zigzag()
			r.maxTime = r.minTime + int64(c.uvarint())
		}
		all.streams += r.streams
		all.blocks += r.blocks
		all.rows += r.rows
		all.raw += r.raw
		if c.bad || r.maxTime < r.minTime || r.rows > info.Rows || r.raw > info.Raw || r.streams == 0 || (r.rows == 0) != (r.blocks == 0) {
			return nil, errForm
		}
		list = append(list, r)
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	if all.streams != info.Streams || all.rows != info.Rows || all.raw != info.Raw {
		return nil, errTotals
	}
	return list, nil
}

// A TenantTotals describes what a segment has of a tenant.
type TenantTotals struct {
	Tenant           string
	First            uint32 // the ordinal of its first stream
	Streams, Blocks  int
	Bytes            int64 // of the frames and filters of its blocks
	Rows, Raw        int64
	MinTime, MaxTime int64 // 0 without rows
}

func (x *index2) Tenants(ctx context.Context) ([]TenantTotals, error) {
	list, err := x.tenants(ctx)
	if err != nil {
		return nil, err
	}
	totals := make([]TenantTotals, len(list))
	for i := range list {
		t := &list[i]
		totals[i] = TenantTotals{t.tenant, t.first, t.streams, t.blocks, t.frames + t.filters, t.rows, t.raw, t.minTime, t.maxTime}
	}
	return totals, nil
}
