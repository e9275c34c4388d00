package segment2

import (
	"context"
	"slices"
	"sync"
	"unsafe"
)

// A buffer is pooled memory for one read.
type buffer struct{ p []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// keepBuffer bounds the buffers that go back to the pool.
const keepBuffer = 1 << 20

func getBuffer(n int) *buffer {
	b := buffers.Get().(*buffer)
	b.p = slices.Grow(b.p[:0], n)[:n]
	return b
}

func (b *buffer) put() {
	if cap(b.p) <= keepBuffer {
		buffers.Put(b)
	}
}

// view calls f with the n bytes at off, without a copy if the source is a
// Viewer. An error of f is damage of what.
func (x *index2) view(ctx context.Context, off, n int64, block int, what string, f func([]byte) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var bad, err error
	if x.viewer != nil && n <= MaxRead {
		err = x.viewer.View(off, int(n), func(p []byte) error {
			bad = f(p)
			return nil
		})
		if err != nil {
			err = ReadError(x.src, err, off, block)
		}
	} else if p := x.readAhead(ctx, off, n); p != nil {
		bad = f(p)
	} else if p := x.besideGroups(ctx, off, n); p != nil {
		bad = f(p)
	} else {
		buf := getBuffer(0)
		defer buf.put()
		if buf.p, err = ReadPieces(Within(ctx, x.src), buf.p, n, off, block); err == nil {
			bad = f(buf.p)
		}
	}
	if err == nil && bad != nil {
		err = corrupt(x.src, off, block, "%s: %v", what, bad)
	}
	return err
}

// viewPart calls f with the content of a part, which is valid during the call.
func (x *index2) viewPart(ctx context.Context, p part, what string, f func([]byte) error) error {
	return x.view(ctx, p.off, int64(p.bytes), -1, what, func(stored []byte) error { return p.view(stored, f) })
}

// view calls f with the content of a part that is stored as these bytes, which is valid
// during the call.
func (p part) view(stored []byte, f func([]byte) error) error {
	buf := getBuffer(0)
	defer buf.put()
	raw, err := p.open(buf.p, stored)
	if err != nil {
		return err
	}
	if err = f(raw); p.raw > p.bytes { // raw is compressed in no memory but buf's
		buf.p = raw
	}
	return err
}

type partTable []part

func (t partTable) Weight() int64 { return int64(cap(t)) * int64(unsafe.Sizeof(part{})) }

// parts returns the parts of a section.
func (x *index2) parts(ctx context.Context, s *section) (partTable, error) {
	k := PartKey{PartTablePart, uint32(s.kind)}
	if t, ok := Present[partTable](x.cache, k); ok {
		return t, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (t partTable, err error) {
		off, n := s.partTable()
		err = x.view(ctx, off, n, -1, sectionName(s.kind), func(p []byte) error {
			t, err = s.parseParts(p)
			return err
		})
		return t, err
	})
}

// partOf calls f with the content of a part of a section, which the segment has.
func (x *index2) partOf(ctx context.Context, kind Type, number int, f func([]byte) error) error {
	s := x.card.section(kind)
	if s == nil {
		return corrupt(x.src, x.card.info.Size-footerSize, -1, "there is no %s", sectionName(kind))
	}
	t, err := x.parts(ctx, s)
	if err != nil {
		return err
	}
	if number >= len(t) {
		return corrupt(x.src, s.off, -1, "%s: %d parts; want part %d", sectionName(kind), len(t), number)
	}
	return x.viewPart(ctx, t[number], sectionName(kind), f)
}

// whole calls f with the content of a section without parts.
func (x *index2) whole(ctx context.Context, s *section, f func([]byte) error) error {
	return x.view(ctx, s.off, s.bytes, -1, sectionName(s.kind), func(p []byte) error {
		raw, err := s.open(p)
		if err != nil {
			return err
		}
		return f(raw)
	})
}

var sectionNames = [...]string{
	TypeLabels: "the label directory", TypeParity: "the label parity", TypePostings: "the postings",
	TypeStreamFilter: "the stream filter", TypeStreams: "the table of streams", TypeGroups: "the groups",
	TypeZones: "the zones", TypeFilters: "the filters", TypeSummary: "the label summary", TypeTenants: "the tenants",
	TypeKeys: "the keys of batches", TypeSources: "the sources of batches",
	TypeDictionary: "the dictionary", TypeTables: "the tables of templates", TypeDictionaryFrame: "the copy of the dictionary",
}

func sectionName(k Type) string {
	if int(k) < len(sectionNames) && sectionNames[k] != "" {
		return sectionNames[k]
	}
	return "the section"
}
