package segment2

import (
	"errors"
	"fmt"
	"iter"
)

// AddKeys writes the section keys; without keys it writes nothing. The keys should
// come nearly in the order of their positions. AddKeys returns an error of keys. Call
// it once at most.
func (w *Writer) AddKeys(keys iter.Seq2[BatchKey, error]) error {
	return addBatches(w, TypeKeys, keys, batchKeys, appendBatchKeys)
}

// AddSources writes the section sources; without sources it writes nothing. It takes
// all sources that
// the store knows at the position Upto, those whose entries are in other segments
// too. Sources of a tenant should be in the order of their names. An error of
// sources is returned. It may be called once.
func (w *Writer) AddSources(sources iter.Seq2[BatchSource, error]) error {
	return addBatches(w, TypeSources, sources, batchSources, appendBatchSources)
}

// check returns an error if the key cannot be encoded.
func (k BatchKey) check() error {
	if len(k.Tenant) > MaxTenant || k.Handled < 0 || int64(k.Handled) > 1<<31-1 {
		return fmt.Errorf("a key of a tenant of %d bytes and %d entries; want at most %d, and 0 to %d", len(k.Tenant), k.Handled, MaxTenant, 1<<31-1)
	}
	return nil
}

// check returns an error if the source cannot be encoded.
func (s BatchSource) check() error {
	if len(s.Tenant) > MaxTenant || len(s.Name) > maxSourceName {
		return fmt.Errorf("a source of %d bytes of a tenant of %d; want at most %d and %d", len(s.Name), len(s.Tenant), maxSourceName, MaxTenant)
	}
	return nil
}

// addBatches writes a section in parts of at most so many items.
func addBatches[T interface{ check() error }](w *Writer, kind Type, items iter.Seq2[T, error], most int, encode func([]byte, []T) []byte) error {
	if w.begin(addingSections) != nil {
		return w.err
	}
	for _, s := range w.sections {
		if s.kind == kind {
			return w.fail(fmt.Errorf("section %d: it is there already", kind))
		}
	}
	var parts partsWriter
	parts.begin(w, kind, 0)
	list := make([]T, 0, most)
	var enc []byte
	flush := func() error {
		if len(list) == 0 {
			return nil
		}
		enc = encode(enc[:0], list)
		p, err := w.zip.store(enc)
		if err != nil {
			return err
		}
		parts.put(p)
		parts.s.items += uint32(len(list))
		list = list[:0]
		return nil
	}
	for one, err := range items {
		if err == nil {
			err = one.check()
		}
		if list = append(list, one); err == nil && len(list) == most {
			err = flush()
		}
		if err != nil {
			return w.failIn(err)
		}
	}
	if err := flush(); err != nil {
		return w.fail(err)
	}
	if parts.s.items > 0 {
		parts.end()
	}
	return w.fail(nil)
}

// failIn keeps an error of what is written, which stays as it is if it is damage.
func (w *Writer) failIn(err error) error {
	if bad, ok := errors.AsType[*CorruptError](err); ok {
		w.err = bad
		return bad
	}
	return w.fail(err)
}
