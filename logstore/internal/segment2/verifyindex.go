package segment2

import (
	"cmp"
	"context"
)

// VerifyIndex reads the header and the index, and verifies their checksums; it
// reads neither labels nor blocks nor filters, and decodes no part. So it is
// cheap enough for each segment that was just written. The error is a
// *CorruptError, or that of the source or of the context.
func (c *Card) VerifyIndex(ctx context.Context, src Source) error {
	v := verifier{ctx: ctx, index2: c.index(Within(ctx, src), nil)}
	if err := v.header(); err != nil {
		return err
	}
	if v.first != nil {
		return v.first
	}
	for i := range c.sections {
		if err := cmp.Or(v.sums(&c.sections[i]), v.twice(&c.sections[i])); err != nil {
			return err
		}
	}
	return nil
}

// sums verifies the checksums of a section.
func (v *verifier) sums(s *section) error {
	switch {
	case s.kind == TypeFilters:
		return nil
	case s.kind == TypeGroups:
		zones, err := v.zones(v.ctx)
		for i := 0; i < len(zones) && err == nil; i++ {
			if err = v.sum(s, zones[i].blocks); err == nil {
				err = v.sum(s, zones[i].runs)
			}
		}
		return err
	case s.flags&flagParts == 0:
		return v.sum(s, part{off: s.off, bytes: int(s.bytes), sum: s.sum})
	}
	table, err := v.index2.parts(v.ctx, s)
	for i := 0; i < len(table) && err == nil; i++ {
		err = v.sum(s, table[i])
	}
	return err
}

// sum verifies the checksum of a part, or of a whole section.
func (v *verifier) sum(s *section, p part) error {
	return v.view(v.ctx, p.off, int64(p.bytes), -1, sectionName(s.kind), func(stored []byte) error {
		if checksum(stored) != p.sum {
			return errSum
		}
		return nil
	})
}
