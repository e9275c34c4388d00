package block

import (
	"bytes"

	"github.com/stele-go/stele/logstore/internal/column"
)

// look tells how many values of a column pass a test. It opens the column if its kind and
// its text leave it open.
func (d *decoder2) look(number uint32, t column.Test) (share2, error) {
	share, err := d.peekPacked(number, t)
	if share != shareSome || err != nil {
		return share, err
	}
	col, err := d.openFor(number)
	if err != nil {
		return shareUnknown, err
	}
	if !col.May(t) {
		return shareNone, nil
	}
	return shareSome, nil
}

// peekPacked is look that does not open the column.
func (d *decoder2) peekPacked(number uint32, t column.Test) (share2, error) {
	if err := d.openPacked(); err != nil {
		return shareUnknown, err
	}
	share, err := d.peek(number, t)
	switch {
	case err != nil:
		return shareUnknown, err
	case share == column.None:
		return shareNone, nil
	case share == column.All:
		return shareAll, nil
	}
	return shareSome, nil
}

// peek tells how many values of a column pass a test, and does not open the column.
func (d *decoder2) peek(number uint32, t column.Test) (column.Share, error) {
	c := &d.head.columns[number]
	packed := d.packed[c.packedAt:][:c.packed]
	kind := column.KindOf(packed)
	if kind > column.Text { // else the text alone tells
		if share := column.Peek(packed, t); share != column.Some {
			return share, nil
		}
	}
	if kind == column.Time {
		if share, err := d.peekTimes(packed, t); err != nil || share != column.Some {
			return share, err
		}
	}
	if len(d.isOpen) > 0 && d.isOpen[number] {
		return column.Some, nil
	}
	text, err := d.textOf(int(number))
	if err != nil {
		return column.Some, err
	}
	// The packed bytes are the cheapest to look at.
	if c.text > 0 && column.PeekWithout(packed, t) == column.None && (c.own == 0 && !d.searches.pooled(t) || !t.Fold && !bytes.Contains(text, t.Text)) {
		return column.None, nil
	}
	if share := column.PeekText(packed, text, t); share != column.Some {
		return share, nil
	}
	if column.FitMayPass(packed, t) {
		return column.Some, nil
	}
	if part := d.searches.part(number, packed, text, int(c.count)); part != nil {
		return part.Part(packed, t), nil
	}
	return column.Some, nil
}

// pooled reports whether the text of the last condition may be among the texts that have no
// sections of their own.
func (s *search2) pooled(t column.Test) bool {
	if t.Fold {
		return true
	}
	share := &s.pools[s.last]
	if *share == shareUnknown {
		if *share = shareNone; bytes.Contains(s.vars.d.pool, t.Text) {
			*share = shareSome
		}
	}
	return *share != shareNone
}

// peekTimes is peek for a column of times.
func (d *decoder2) peekTimes(packed []byte, t column.Test) (column.Share, error) {
	if d.hasSpan {
		return column.PeekTimes(packed, d.least, d.greatest, t), nil
	}
	r, err := d.times()
	if err != nil {
		return column.Some, err
	}
	first, last, err := r.span()
	if err != nil {
		return column.Some, err
	}
	return column.PeekTimes(packed, first, last, t), nil
}

// part returns the part of a column that decides tests, nil if there is none.
func (s *search2) part(number uint32, packed, text []byte, count int) *column.Column {
	at := &s.partOf[number]
	if *at == partUnknown {
		part := s.parts.use(s.used, s.vars.d.memory)
		if *at = partNone; part.OpenPart(packed, text, count) {
			s.used++
			*at = int32(s.used)
		}
	}
	if *at == partNone {
		return nil
	}
	return s.parts.all[*at-1]
}

// openFor returns a column, which it opens if it is not open yet, and with it what that needs.
func (d *decoder2) openFor(number uint32) (*column.Column, error) {
	c := &d.head.columns[number]
	if err := d.openPacked(); err != nil {
		return nil, err
	}
	if column.TimesNeeded(d.packed[c.packedAt:][:c.packed]) {
		if err := d.openRows(); err != nil {
			return nil, err
		}
	}
	return d.columnAt(number)
}
