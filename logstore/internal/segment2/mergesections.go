package segment2

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// writeFilters writes the filter of each block. That of a merged block joins the
// filters of its parts.
func (m *merger) writeFilters() error {
	var bufs [maxJoined][]byte
	var joined []byte
	for _, blocks := range m.written {
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

// A dictionaryID is a section TypeDictionary of a source.
type dictionaryID struct {
	source   uint16
	instance uint16
}

// dictionary returns what a copied block says of its dictionary.
func (m *merger) dictionary(source, dictionary uint16) (uint16, error) {
	if dictionary == 0 {
		return 0, nil
	}
	id := dictionaryID{source, dictionary - 1}
	instance := slices.Index(m.dictionaries, id)
	if instance < 0 {
		if instance = len(m.dictionaries); instance == math.MaxUint16 {
			return 0, fmt.Errorf("segment: merge: more than %d dictionaries", instance)
		}
		m.dictionaries = append(m.dictionaries, id)
	}
	return uint16(instance + 1), nil
}

// ownSections returns the sections of a source that are neither its index nor
// dictionaries.
func (s *mergeSource) ownSections() (list []section) {
	x, ok := s.MergeReader.(*index2)
	if !ok {
		return nil
	}
	for _, one := range x.card.sections {
		if one.kind >= TypeRoster && one.kind < TypeDictionary || one.kind >= typeEnd && one.flags&FlagKept != 0 {
			list = append(list, one)
		}
	}
	return list
}

// checkSections refuses sources with sections that cannot be carried over.
func (m *merger) checkSections() error {
	for _, s := range m.sources {
		for _, one := range s.ownSections() {
			if one.kind < TypeDictionary && m.o.Sections == nil || one.kind >= typeEnd && one.flags&flagParts != 0 {
				return &VersionError{File: s.src.Name(), Version: version, Section: uint16(one.kind)}
			}
		}
	}
	return nil
}

// writeSections writes the dictionaries that blocks need, the sections that are
// kept, numbered by source, and those of the caller.
func (m *merger) writeSections() error {
	for instance, id := range m.dictionaries {
		if err := m.copyDictionary(id, uint32(instance)); err != nil {
			return err
		}
	}
	instances := map[Type]uint32{}
	for _, s := range m.sources {
		for _, one := range s.ownSections() {
			if one.kind < typeEnd {
				continue
			}
			if err := m.copySection(s, &one, instances[one.kind]); err != nil {
				return err
			}
			instances[one.kind]++
		}
	}
	if m.o.Sections == nil {
		return nil
	}
	list, err := m.o.Sections()
	if err != nil {
		return err
	}
	for _, one := range list {
		if err := m.w.AddSection(one); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) copyDictionary(id dictionaryID, instance uint32) error {
	s := m.sources[id.source]
	x := s.MergeReader.(*index2)
	for i := range x.card.sections {
		if one := &x.card.sections[i]; one.kind == TypeDictionary && one.instance == uint32(id.instance) {
			if one.flags&flagParts != 0 {
				return &VersionError{File: s.src.Name(), Version: version, Section: uint16(TypeDictionary)}
			}
			return m.copySection(s, one, instance)
		}
	}
	return s.corrupt(x.card.info.Size-footerSize, -1, fmt.Errorf("a block needs dictionary %d, which is not there", id.instance))
}

// copySection copies a section without parts.
func (m *merger) copySection(s *mergeSource, one *section, instance uint32) error {
	x := s.MergeReader.(*index2)
	if one.bytes > MaxRead || one.raw > MaxRead {
		return s.corrupt(one.off, -1, errors.New("the section is too large"))
	}
	return x.whole(m.ctx, one, func(p []byte) error {
		return m.w.AddSection(Section{Type: one.kind, Instance: instance, Flags: one.flags, Items: one.items, Data: p})
	})
}
