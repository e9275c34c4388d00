package block

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/template"
)

// Walk implements template.Variables.
func (v *variables2) Walk(w *template.Walk, slot int) {
	if v.err == nil {
		v.err = v.d.walk(w, v.number(slot))
	}
}

// walk goes on with the values of a column, by as little of it as tells what they have.
func (d *decoder2) walk(w *template.Walk, number uint32) error {
	if err := d.openPacked(); err != nil {
		return err
	}
	c := &d.head.columns[number]
	packed := d.packed[c.packedAt:][:c.packed]
	text, err := d.textOf(int(number))
	if err != nil {
		return err
	}
	s := &d.searches
	list, ok := s.placesOf(number, packed, text)
	if ok {
		for i := range list {
			w.Place(list[i].Bytes, list[i].Many)
		}
		return nil
	}
	if value, ok := column.ConstantOf(packed, text); ok {
		w.Text(value)
		return nil
	}
	w.Place(s.valueBytes(number, packed, text, int(c.count)), true)
	return nil
}

// placesOf returns the places of a column. Those of texts are kept for the block.
func (s *search2) placesOf(number uint32, packed, text []byte) (list []column.Place, ok bool) {
	if column.KindOf(packed) != column.Text {
		s.places, ok = column.Places(s.places[:0], packed, text)
		return s.places, ok
	}
	i := slices.Index(s.textColumns, number)
	if i < 0 {
		i = len(s.textColumns)
		s.textColumns = append(s.textColumns, number)
		s.textPlaces, _ = column.Places(s.textPlaces[:i], packed, text)
		for len(s.textPlaces) == i { // nothing is known
			s.textPlaces = append(s.textPlaces, column.Place{Bytes: allBytes, Many: true})
		}
	}
	return s.textPlaces[i:][:1], true
}

var allBytes = template.ByteSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// valueBytes returns the bytes that values of a column may have.
func (s *search2) valueBytes(number uint32, packed, text []byte, count int) (set template.ByteSet) {
	part := s.part(number, packed, text, count)
	if part == nil {
		return allBytes
	}
	if column.KindOf(packed) != column.Dictionary {
		fit, ok := column.FitBytes(packed)
		if !ok {
			return allBytes
		}
		set = fit
	}
	for i, w := range part.ValueBytes() {
		set[i] |= w
	}
	return set
}

// lookMatch is look for values that have a match of an automaton.
func (d *decoder2) lookMatch(number uint32, a *template.Automaton) (share2, error) {
	s, c := &d.searches, &d.head.columns[number]
	s.walk.Begin(a)
	if err := d.walk(&s.walk, number); err != nil || !s.walk.May {
		return shareNone, err
	}
	packed := d.packed[c.packedAt:][:c.packed]
	text, err := d.textOf(int(number))
	if err != nil {
		return shareUnknown, err
	}
	if value, ok := column.ConstantOf(packed, text); ok {
		if a.Match(value) {
			return shareAll, nil
		}
		return shareNone, nil
	}
	if _, err := d.openFor(number); err != nil {
		return shareUnknown, err
	}
	return shareSome, nil
}
