package segment2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stele-go/stele/logstore/internal/template"
)

// Dictionary returns the templates that blocks of codec 2 refer to, which name it by
// number: Block.Dictionary, Frame.Dictionary. 0 is of a block that needs none.
func (x *index2) Dictionary(ctx context.Context, number uint16) (*template.Dictionary, error) {
	if number == 0 {
		return nil, ctx.Err()
	}
	k := PartKey{DictionaryPart, uint32(number)}
	if d, ok := Present[*template.Dictionary](x.cache, k); ok {
		return d, nil
	}
	d, err := Load(ctx, x.cache, k, func(ctx context.Context) (*template.Dictionary, error) {
		return x.readDictionary(ctx, TypeDictionary, number, decodeDictionary)
	})
	if isCorrupt(err) {
		return rebuilt(err, func() (*template.Dictionary, error) {
			return x.readDictionary(ctx, TypeDictionaryFrame, number, x.dictionaryOf)
		})
	}
	return d, err
}

// decodeDictionary decodes the dictionary that a section is.
func decodeDictionary(_ *section, p []byte) (*template.Dictionary, error) { return template.Decode(p) }

// dictionaryOf decodes the dictionary frame that a section is.
func (x *index2) dictionaryOf(s *section, p []byte) (*template.Dictionary, error) {
	f, d, err := openDictionaryFrame(p, x.card.salt, s.off)
	if err == nil && f.instance != s.instance {
		err = errForm
	}
	return d, err
}

// readDictionary reads one of the two copies of a dictionary.
func (x *index2) readDictionary(ctx context.Context, kind Type, number uint16, decode func(s *section, p []byte) (*template.Dictionary, error)) (d *template.Dictionary, err error) {
	s := x.card.instance(kind, uint32(number)-1)
	if s == nil {
		return nil, corrupt(x.src, x.card.info.Size-footerSize, -1, "%s %d is not there", sectionName(kind), number-1)
	}
	var newer *template.VersionError
	err = x.whole(ctx, s, func(p []byte) (err error) {
		if d, err = decode(s, p); errors.As(err, &newer) {
			return nil
		}
		return err
	})
	if err == nil && newer != nil {
		err = fmt.Errorf("segment: %s: dictionary %d at offset %d: %w", x.src.Name(), number-1, s.off, newer)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// instance returns the section of a type with this instance, or nil.
func (c *Card) instance(kind Type, instance uint32) *section {
	for i := range c.sections {
		if s := &c.sections[i]; s.kind == kind && s.instance == instance {
			return s
		}
	}
	return nil
}

// A dictionaryFrame is the header of a dictionary frame: the copy of a dictionary, which
// is found without the index.
type dictionaryFrame struct {
	instance  uint32
	raw       uint32 // bytes of the dictionary before compression
	templates uint32
	stored    uint32 // bytes of the dictionary
	sum       uint32 // of these
}

func (f dictionaryFrame) size() int64 { return dictionaryHeaderSize + int64(f.stored) }

// append appends the header of a frame at offset off.
func (f dictionaryFrame) append(dst []byte, salt uint64, off int64) []byte {
	return appendFrame(dst, salt, off, kindDictionary, f.instance, f.raw, f.templates, 0, f.stored, f.sum)
}

// parseDictionaryFrame decodes the header of the dictionary frame at offset off; ok is
// false if it is not valid.
func parseDictionaryFrame(p []byte, salt uint64, off int64) (f dictionaryFrame, ok bool) {
	if !isFrame(p, salt, off, kindDictionary, dictionaryHeaderSize) {
		return dictionaryFrame{}, false
	}
	zero := uint32(0)
	for i, v := range [...]*uint32{&f.instance, &f.raw, &f.templates, &zero, &f.stored, &f.sum} {
		*v = binary.LittleEndian.Uint32(p[8+4*i:])
	}
	return f, zero == 0 && f.instance < maxDictionaries && f.stored <= f.raw && f.raw <= MaxRead
}

// openDictionaryFrame decodes a whole dictionary frame.
func openDictionaryFrame(p []byte, salt uint64, off int64) (dictionaryFrame, *template.Dictionary, error) {
	f, ok := parseDictionaryFrame(p, salt, off)
	if !ok || f.size() != int64(len(p)) {
		return f, nil, errForm
	}
	stored := p[dictionaryHeaderSize:]
	if checksum(stored) != f.sum {
		return f, nil, errSum
	}
	raw, err := unzip(nil, stored, int(f.raw))
	if err != nil {
		return f, nil, err
	}
	d, err := template.Decode(raw)
	if err == nil && d.Len() != int(f.templates) {
		err = errForm
	}
	return f, d, err
}
