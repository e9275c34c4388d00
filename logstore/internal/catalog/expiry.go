package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// # What expires by the limits of a tenant
//
// Segments are shared by tenants. A compaction leaves out each row that has expired by
// its tenant's Retention. A segment in which all rows have expired is deleted, as
// retention deletes one. Another is rewritten alone once
//
//   - a quarter of its bytes, or more, is of tenants of which all rows there have
//     expired, or
//   - the newest row of a tenant there is twice as old as its Retention.
//
// A rewrite leaves out all that has expired by then. So a rewrite of the first kind
// makes the segment smaller by a quarter, and all of them write less than three bytes for each of
// its bytes. Of the second kind there are at most as many as the segment's age can
// double from the shortest Retention to the longest: a tenant with rows left at one
// rewrite had a Retention longer than their age, and is not due before they are twice
// as old.
//
// A segment that a compaction made at a time T has no row of a tenant that is older
// than T less its Retention, and none newer than T. So a row leaves the disk at the latest when it is
// three times as old as its tenant's Retention, and the rewrite has been made.
//
// # Rewrites and crashes
//
// The source of a lone rewrite may come back after a crash, and so may a damaged file
// that was salvaged: both have the positions of the segment in their place. A
// salvage has the next generation, a rewrite one that is rewriteStep higher: so Open
// removes the source of a rewrite, and moves the damaged file to quarantine. A segment
// is not rewritten before the damaged file that it was salvaged from is in quarantine.

// rewriteStep is by how much the generation of a segment that was rewritten alone is
// higher than that of its source.
const rewriteStep = 256

// TenantLimits are those of a tenant.
type TenantLimits struct {
	Retention time.Duration // 0: as Options.Retention says
}

// An expiry says which rows have expired at one moment.
type expiry struct {
	limits func(tenant string) (TenantLimits, error)
	now    int64
	err    error // the last one of limits
}

// expiry returns which rows have expired now, or nil if none has: tenants have no
// limits, or the clock is not to be relied on.
func (c *Catalog) expiry() *expiry {
	if c.o.Limits == nil || !c.clock.proven() {
		return nil
	}
	return &expiry{limits: c.o.Limits, now: c.now()}
}

// retention returns how long rows of a tenant are kept by its own limit; 0 is forever.
func (e *expiry) retention(tenant string) time.Duration {
	l, err := e.limits(tenant)
	if err != nil {
		e.err = err
		return 0
	}
	return l.Retention
}

// before returns the time below which the rows that a segment has of a tenant have
// expired.
func (e *expiry) before(of segment2.TenantTotals) int64 {
	if keep := e.retention(of.Tenant); keep > 0 {
		return e.now - int64(keep)
	}
	return math.MinInt64
}

// An expiredPart is what of a segment has expired.
type expiredPart struct {
	some, all bool
	due       bool // the segment is to be rewritten
}

// of returns what of a segment has expired.
func (e *expiry) of(info *segment2.Info, tenants []segment2.TenantTotals) (x expiredPart) {
	rest := info.Size
	for i := range tenants {
		rest -= tenants[i].Bytes
	}
	var rows int64
	var bytes float64
	for i := range tenants {
		t := &tenants[i]
		keep := int64(e.retention(t.Tenant))
		if keep == 0 || t.Rows == 0 || e.now-t.MinTime <= keep {
			continue
		}
		x.some = true
		age := e.now - t.MaxTime
		if age <= keep {
			continue
		}
		rows += t.Rows
		bytes += float64(t.Bytes) + float64(rest)*float64(t.Streams)/float64(info.Streams)
		x.due = x.due || age-keep > keep
	}
	x.all = rows > 0 && rows == info.Rows
	x.due = x.due || bytes >= float64(info.Size)/4
	return x
}

// mayRewrite reports whether a segment may be replaced by one without some of its rows.
// One that the log may replay waits.
func (c *Catalog) mayRewrite(f *file) bool {
	return f.damage.Load() == nil && !f.failure.waits(c.o.Clock.Elapsed()) && f.positions.upto <= c.truncated.Load() &&
		f.positions.generation <= math.MaxUint32-rewriteStep && !f.salvaged()
}

// salvaged reports whether a file was salvaged from one that is not yet in quarantine,
// so that a power cut cannot bring it back.
func (f *file) salvaged() bool {
	return slices.ContainsFunc(f.replaces, func(g *obsoleteFile) bool { return g.damaged != nil && !g.durable })
}

// expire removes from the version the segments in which all rows have expired by the
// limits of their tenants, and notes which ones are to be rewritten: with now set, all
// that have such rows.
func (c *Catalog) expire(ctx context.Context, now bool) {
	e := c.expiry()
	if e == nil {
		return
	}
	var gone []*file
	var errs []error
	looked := false
	for _, f := range c.current.Load().order {
		if c.o.Clock.Elapsed() < f.expiryAt || !c.mayRewrite(f) {
			continue
		}
		x, err := c.expiredOf(ctx, f, e)
		if ctx.Err() != nil {
			break
		}
		if looked = true; err != nil && len(errs) == 0 {
			errs = append(errs, err)
		}
		if f.expired = x.due || now && x.some; x.all {
			gone = append(gone, f)
		}
	}
	if looked {
		c.limitsFailure = errors.Join(errs...)
	}
	c.retireFiles(gone)
}

// expiredOf returns what of a file has expired. It reads what the file has of tenants;
// expire looks at it again after a minute, later if these are many, and sooner after an
// error of Options.Limits, which it returns.
func (c *Catalog) expiredOf(ctx context.Context, f *file, e *expiry) (x expiredPart, err error) {
	begun := c.o.Clock.Elapsed()
	tenants, err := Segment{catalog: c, file: f}.Tenants(ctx)
	if err != nil {
		f.failure = c.newFailure(fmt.Errorf("catalog: what %s has of tenants: %w", c.path(f), err), begun)
		return x, nil
	}
	e.err = nil
	x = e.of(&f.info, tenants)
	f.expiryAt = begun + time.Minute + time.Duration(len(tenants))*10*time.Millisecond
	if e.err != nil {
		f.expiryAt = begun + time.Second
	}
	return x, e.err
}

// nextExpired returns the next segment to be rewritten without rows that have expired,
// or nil.
func (c *Catalog) nextExpired() *file {
	if c.writeFailure.waits(c.o.Clock.Elapsed()) {
		return nil
	}
	for _, f := range c.current.Load().order {
		if f.expired && c.mayRewrite(f) {
			f.expired = false // until expire looks again
			return f
		}
	}
	return nil
}
