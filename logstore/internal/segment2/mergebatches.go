package segment2

import "iter"

// writeBatches writes the keys of all sources that are young enough, and the
// sources of batches that the newest one knows: it knows those of the others.
func (m *merger) writeBatches() error {
	err := m.w.AddKeys(func(yield func(BatchKey, error) bool) {
		for _, s := range m.sources {
			x, ok := s.MergeReader.(*index2)
			if !ok {
				continue
			}
			for k, err := range since(x.batchKeys(m.ctx), m.o.KeysSince) {
				if !yield(k, err) {
					return
				}
			}
		}
	})
	for i := len(m.sources) - 1; i >= 0 && err == nil; i-- {
		if x, ok := m.sources[i].MergeReader.(*index2); ok && x.card.HasSources() {
			return m.w.AddSources(x.batchSources(m.ctx))
		}
	}
	return err
}

// since leaves out the keys that came before.
func since(keys iter.Seq2[BatchKey, error], seconds int64) iter.Seq2[BatchKey, error] {
	return func(yield func(BatchKey, error) bool) {
		for k, err := range keys {
			if (err != nil || k.Came >= seconds) && !yield(k, err) {
				return
			}
		}
	}
}

// writeBatches writes the keys that are intact and young enough, and the sources
// if all of them are intact: if some were missing, they would count as unknown.
func (v *salvager) writeBatches() error {
	if v.index == nil {
		return nil
	}
	err := v.w.AddKeys(func(yield func(BatchKey, error) bool) {
		for k, err := range since(v.index.batchKeys(v.ctx), v.o.KeysSince) {
			if err != nil {
				if err = v.lose(err); err == nil {
					continue
				}
			}
			if !yield(k, err) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	for _, err := range v.index.batchSources(v.ctx) {
		if err != nil {
			return v.lose(err)
		}
	}
	return v.w.AddSources(v.index.batchSources(v.ctx))
}
