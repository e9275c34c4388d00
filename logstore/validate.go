package logstore

import (
	"context"
	"math"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// validate splits the batch: rows are the entries that can be kept, streams and
// records how they go into records, rejected the others, with the reason.
func (w *appendState) validate(ctx context.Context, s *Store, b Batch) {
	keep, own := s.o.retentionOf(&w.limits)
	c := checker{o: &s.o, keep: int64(keep), own: own, catalog: s.catalog, tenant: w.tenant.name, now: w.now.UnixNano(), maxRecord: s.recordSize}
	for i := range b {
		entries := b[i].Entries
		st := s.streams.find(w.tenant, b[i].Labels)
		seen := w.seen[b[i].Labels]
		newest := newestOf(st, seen)
		w.openStream(b[i].Labels, i, seen)
		admitted, full := st != nil && st.counted.Load() == w.half, refusal(0)
		for j := range entries {
			e := &entries[j]
			if c.mayBeLate(e, &newest) {
				c.readNewest(ctx, b[i].Labels, e, st, &newest)
			}
			if c.rejects(b[i].Labels, e, newest.time) {
				w.reject(s, i, j, c.rejection(b[i].Labels, e, newest.time))
				continue
			}
			if !admitted {
				// Asked for the first entry that can be kept.
				if full == 0 {
					full = s.admits(st, w.tenant, b[i].Labels, w.half)
				}
				if full != 0 {
					w.reject(s, i, j, Rejection{Time: e.Time, limit: w.streamLimit(&s.o, full), code: full})
					continue
				}
				admitted = true
			}
			w.addRow(e, j, c.maxRecord)
			newest.time = max(newest.time, e.Time)
		}
		if last := &w.streams[len(w.streams)-1]; i < len(b)-1 && last.last > last.first {
			w.seen[b[i].Labels] = seenStream{newest.time, len(w.records), last.place + last.last - last.first}
		}
		w.closeStream(st)
		w.before += len(entries)
	}
	w.closeRecord(w.before, false)
}

// reject notes that an entry is refused.
func (w *appendState) reject(s *Store, stream, entry int, r Rejection) {
	r.Stream, r.Entry = stream, entry
	w.rejected.reject(s, r, w.before-w.begin+entry)
}

// headOf returns the head of a record of the batch.
func (w *appendState) headOf(p recordRange) recordHead {
	h := w.head
	h.handled, h.more = p.handled, p.more
	if h.source != "" {
		h.offset = w.names.offsetOf(p.handled - 1)
	}
	return h
}

// A checker decides which entries cannot be kept.
type checker struct {
	o         *Options
	catalog   *catalog.Catalog
	tenant    string
	keep      int64 // how long entries are kept; 0: forever
	own       bool  // keep is of the tenant
	now       int64 // by Options.Clock, which may be wrong
	trusted   int64 // by the catalog's clock; 0: not yet read
	maxRecord int
}

func (c *checker) rejects(l Labels, e *Entry, newest int64) bool {
	o := c.o
	return e.Time < 0 || e.Time == math.MaxInt64 || len(e.Line) > o.MaxLine || l.enc == "" ||
		o.LateWindow >= 0 && newest-e.Time > int64(o.LateWindow) ||
		o.FutureWindow >= 0 && e.Time-c.now > int64(o.FutureWindow) ||
		c.keep > 0 && c.now-e.Time > c.keep && c.expired(e.Time)
}

// expired reports whether a time is older than is kept by the trusted time, which is read only where it matters, as it is never ahead of the clock.
func (c *checker) expired(t int64) bool {
	if c.trusted == 0 {
		c.trusted, _ = c.catalog.Time()
	}
	return c.trusted-t > c.keep
}

// rejection returns the rejection of an entry, and what is allowed.
func (c *checker) rejection(l Labels, e *Entry, newest int64) Rejection {
	o := c.o
	r := Rejection{Time: e.Time, size: uint32(min(uint64(len(e.Line)), math.MaxUint32))}
	switch {
	case l.enc == "":
		r.code = refusedLabels
	case len(e.Line) > o.MaxLine:
		r.code, r.limit = refusedLength, int64(o.MaxLine)
	case e.Time < 0:
		r.code = refusedNegative
	case e.Time == math.MaxInt64:
		r.code = refusedLast
	case o.FutureWindow >= 0 && e.Time-c.now > int64(o.FutureWindow):
		r.code, r.limit = refusedFuture, c.now+int64(o.FutureWindow)
	case c.keep > 0 && c.now-e.Time > c.keep && c.expired(e.Time):
		if r.code, r.limit = refusedExpired, c.trusted-c.keep; c.own {
			r.code = refusedTenantExpired
		}
	default:
		r.code, r.limit = refusedLate, newest-int64(o.LateWindow)
	}
	return r
}

// streamLimit returns the limit that refuses a stream.
func (w *appendState) streamLimit(o *Options, why refusal) int64 {
	if why == refusedTenantStreams {
		return int64(w.limits.MaxStreams)
	}
	return int64(o.MaxStreams)
}

// openStream begins the rows of the stream with that index in the batch. seen is
// what the batch has of it before.
func (w *appendState) openStream(l Labels, index int, seen seenStream) {
	if len(w.records) == 0 {
		w.records = append(w.records, recordRange{})
	}
	place := 0
	if seen.record == len(w.records) {
		place = seen.rows
	}
	w.streams = append(w.streams, recordStream{labels: l, index: index, first: len(w.rows), last: len(w.rows), place: place})
}

// addRow adds an entry to the last stream, and begins another record where this
// one would exceed most bytes, or has maxPlaces entries of the stream.
func (w *appendState) addRow(e *Entry, entry, most int) {
	p := &w.streams[len(w.streams)-1]
	last := &w.records[len(w.records)-1]
	n := 0
	if len(w.rows) == p.first {
		n = firstLen(e)
	} else {
		n = entryLen(e, w.rows[len(w.rows)-1].time)
	}
	// overhead bounds the bytes before the entries of a stream and of a record,
	// which are not yet in last.size, without the labels and the head.
	const overhead = 32
	if last.rows > 0 && (last.size+len(p.labels.enc)+n+overhead+w.head.most() > most || p.place+p.last-p.first == maxPlaces) {
		again := *p
		again.first, again.place, again.raw = p.last, 0, 0
		w.closeStream(nil)
		w.closeRecord(w.before+entry, true)
		w.records = append(w.records, recordRange{first: len(w.streams), last: len(w.streams)})
		w.streams = append(w.streams, again)
		p, last = &w.streams[len(w.streams)-1], &w.records[len(w.records)-1]
		n = firstLen(e)
	}
	w.rows = append(w.rows, memRow{time: e.Time, off: uint32(entry)})
	p.last = len(w.rows)
	p.raw += int64(len(e.Line) + len(e.Metadata.enc))
	last.size += n
	last.rows++
}

// closeStream ends the last stream; without rows it is dropped.
func (w *appendState) closeStream(st *stream) {
	last := len(w.streams) - 1
	p := &w.streams[last]
	// Parts of it in earlier records belong to the same stream.
	for i := last; i >= 0 && w.streams[i].index == p.index; i-- {
		w.streams[i].stream = st
	}
	if p.first == p.last {
		w.streams = w.streams[:last]
		return
	}
	g := &w.records[len(w.records)-1]
	g.size += streamLen(p.labels, p.last-p.first)
	g.last = last + 1
}

// closeRecord ends the last record, with which that many entries of the batch
// are handled; without rows it is dropped.
func (w *appendState) closeRecord(handled int, more bool) {
	if len(w.records) == 0 {
		return
	}
	last := len(w.records) - 1
	g := &w.records[last]
	if g.rows == 0 {
		w.records = w.records[:last]
		return
	}
	g.handled, g.more = handled, more
	h := w.headOf(*g)
	g.size += h.size() + uvarintLen(uint64(g.last-g.first))
}
