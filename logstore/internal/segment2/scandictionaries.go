package segment2

import (
	"context"

	"github.com/stele-go/stele/logstore/internal/template"
)

// scannedDictionaries finds the dictionaries of a segment that was scanned. It keeps one in
// memory: a file may say that it has 65,535 of 4 MiB.
type scannedDictionaries struct {
	frames map[uint16]foundDictionary // by number; those that are intact
	index  *index2                    // or nil: where their copies are

	latest *template.Dictionary
	number uint16 // of the latest; 0: none
}

// A foundDictionary is the frame of a dictionary.
type foundDictionary struct{ off, bytes int64 }

// Dictionary is Dictionary of Index. The dictionary comes from its frame, or, if that is
// damaged, from the index where this can be read.
func (s *Scanned) Dictionary(ctx context.Context, number uint16) (*template.Dictionary, error) {
	k := &s.dictionaries
	if number == k.number { // also 0
		return k.latest, ctx.Err()
	}
	if number == 0 {
		return nil, ctx.Err()
	}
	d, err := k.read(ctx, s, number)
	if err != nil {
		return nil, err
	}
	k.latest, k.number = d, number
	return d, nil
}

func (k *scannedDictionaries) read(ctx context.Context, s *Scanned, number uint16) (d *template.Dictionary, err error) {
	f, found := k.frames[number]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !found && k.index == nil:
		return nil, corrupt(s.src, s.info.Size, -1, "dictionary %d was not found", number-1)
	case !found:
		return k.index.readDictionary(ctx, TypeDictionary, number, decodeDictionary)
	}
	buf := getBuffer(int(f.bytes))
	defer buf.put()
	if err := ReadFull(Within(ctx, s.src), buf.p, f.off, -1); err != nil {
		return nil, err
	}
	if _, d, err = openDictionaryFrame(buf.p, s.salt, f.off); err != nil { // it was intact
		return nil, corrupt(s.src, f.off, -1, "dictionary %d: %v", number-1, err)
	}
	return d, nil
}
