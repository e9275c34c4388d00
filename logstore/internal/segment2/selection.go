package segment2

import (
	"context"
	"encoding/binary"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// A keptSelection has the streams that meet conditions of which labels had to be read:
// a Match is called for each value of a name that has no postings.
type keptSelection struct {
	text string // of the conditions
	set  *roaring.Bitmap
}

func (k *keptSelection) Weight() int64 { return int64(len(k.text)) + int64(k.set.GetSizeInBytes()) }

// maxSelectionText bounds the text of conditions whose streams are kept, in bytes.
const maxSelectionText = 4 << 10

// selectionText returns a text that differs for different conditions, or "" if
// there is no such text.
func selectionText(tenant string, conditions []Condition) string {
	b := appendSized(nil, tenant)
	for i := range conditions {
		c := &conditions[i]
		if c.Match != nil && c.Key == "" {
			return ""
		}
		b = appendSized(b, c.Name)
		kind := byte(0)
		if c.Not {
			kind |= 1
		}
		if c.Match != nil {
			b = appendSized(append(b, kind|2), c.Key)
		} else {
			b = binary.AppendUvarint(append(b, kind), uint64(len(c.Values)))
			for _, v := range c.Values {
				b = appendSized(b, v)
			}
		}
		if len(b) > maxSelectionText {
			return ""
		}
	}
	return string(b)
}

// byKeptLabels is byLabels of conditions that have a text with the others of the
// selection. What it has selected is kept, unless damage was found.
func (s *selection) byKeptLabels(ctx context.Context, text string, conditions []Condition) error {
	if text == "" || s.x.cache == nil || s.found.first != nil {
		return s.byLabels(ctx, conditions)
	}
	k := PartKey{SelectionPart, uint32(filter.KeyOf([]byte(text)))}
	kept, ok := Present[*keptSelection](s.x.cache, k)
	if !ok {
		var err error
		kept, err = Load(ctx, s.x.cache, k, func(ctx context.Context) (*keptSelection, error) {
			one := *s
			err := one.byLabels(ctx, conditions)
			if err == nil {
				err = one.found.result()
			}
			return &keptSelection{text, one.set}, err
		})
		if err := s.found.note(err); err != nil {
			return err
		}
		s.found.lost = s.found.first != nil && !s.found.first.Rebuilt
	}
	if kept.text != text { // other conditions with the same checksum
		return s.byLabels(ctx, conditions)
	}
	s.set = kept.set.Clone()
	return nil
}
