package segment2

import (
	"context"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// writeFilters writes the filter of each block. That of a merged block joins the
// filters of its parts.
func (m *merger) writeFilters() error {
	var bufs [maxJoined][]byte
	var joined []byte
	for number, blocks := range m.written {
		if made, ok := m.made[number]; ok {
			if err := m.w.AddFilter(made); err != nil {
				return err
			}
			continue
		}
		known := true
		for i, id := range blocks {
			s := m.sources[id.source]
			g, err := s.load(m, int(id.block))
			if err != nil {
				return err
			}
			if bufs[i], err = s.ReadFilter(m.ctx, bufs[i], g, int(id.block)); err != nil {
				return err
			}
			known = known && len(bufs[i]) > 0
		}
		p := bufs[0]
		switch {
		case !known:
			p = nil
		case len(blocks) > 1:
			joined = filter.Join(joined[:0], bufs[:len(blocks)]...)
			p = joined
		}
		if err := m.w.AddFilter(p); err != nil {
			return err
		}
	}
	return nil
}

// keptSections returns the sections of unknown types that a merge copies.
func (x *index2) keptSections() (list []section) {
	for _, s := range x.card.sections {
		if s.kind >= typeEnd && s.flags&FlagKept != 0 {
			list = append(list, s)
		}
	}
	return list
}

// checkSections refuses a segment with sections that cannot be carried over. own
// is set if the caller gives those of the types that MergeOptions.Sections names.
func (x *index2) checkSections(own bool) error {
	for _, s := range x.card.sections {
		callers := s.kind == TypeRoster || s.kind == TypeDeletes || s.kind == TypeLosses
		if !own && callers || s.kind >= typeEnd && s.flags&FlagKept != 0 && s.flags&flagParts != 0 {
			return &VersionError{File: x.src.Name(), Version: version, Section: uint16(s.kind)}
		}
	}
	return nil
}

// copySection calls put with a section without parts. Its instance is another in
// the new segment.
func (x *index2) copySection(ctx context.Context, s *section, instance uint32, put func(Section)) error {
	if s.bytes > MaxRead || s.raw > MaxRead {
		return corrupt(x.src, s.off, -1, "section %d: %d bytes; want at most %d", s.kind, max(s.bytes, s.raw), MaxRead)
	}
	return x.whole(ctx, s, func(p []byte) error {
		put(Section{Type: s.kind, Instance: instance, Flags: s.flags, Items: s.items, Data: p})
		return nil
	})
}

// writeSections writes the sections that are kept, numbered by source, and those of the
// caller.
func (m *merger) writeSections() error {
	instances := map[Type]uint32{}
	for _, s := range m.sources {
		x, ok := s.MergeReader.(*index2)
		if !ok {
			continue
		}
		for _, one := range x.keptSections() {
			if err := m.copySection(x, &one, instances[one.kind]); err != nil {
				return err
			}
			instances[one.kind]++
		}
	}
	return m.w.addSections(m.o.Sections)
}

// addSections adds the sections of a caller.
func (w *Writer) addSections(get func() ([]Section, error)) error {
	if get == nil {
		return nil
	}
	list, err := get()
	for _, s := range list {
		if err == nil {
			err = w.AddSection(s)
		}
	}
	return err
}

func (m *merger) copySection(x *index2, s *section, instance uint32) error {
	var failed error
	err := x.copySection(m.ctx, s, instance, func(s Section) { failed = m.w.AddSection(s) })
	if err == nil {
		err = failed
	}
	return err
}
