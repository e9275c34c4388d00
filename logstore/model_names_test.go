package logstore_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/stele-go/stele/logstore"
)

// modelNames are the batches of a run that have a key or a source.
type modelNames struct {
	batches []namedBatch
	keys    uint64
	offsets [3]uint64 // of each source, the next one
}

// A namedBatch was acknowledged, or refused in part.
type namedBatch struct {
	batch logstore.Batch
	o     logstore.AppendOptions
	at    int64 // by the clock
}

// isForgotten reports whether the store may not know the batch any more, as its key is too
// old.
func (m *model) isForgotten(b *namedBatch) bool {
	return b.o.Source == "" && m.clock.Load()-b.at > int64(cmp.Or(m.o.KeyWindow, 10*time.Minute))
}

// A namedStep appends a batch with a key, with a source, or with both.
type namedStep struct {
	tenant string
	spec   []streamSpec
	key    bool
	source int // 0: none
	skip   int // offsets that the source leaves out
}

func (s namedStep) String() string {
	return fmt.Sprintf("append(%q, %v) with a key %t, source %d, %d offsets left out", s.tenant, s.spec, s.key, s.source, s.skip)
}

func (s namedStep) run(m *model) error {
	b := m.batch(s.spec)
	n := 0
	for _, st := range b {
		n += len(st.Entries)
	}
	o := logstore.AppendOptions{Tenant: s.tenant}
	if s.key || s.source == 0 {
		m.names.keys++
		binary.LittleEndian.PutUint64(o.Key[:], m.names.keys)
	}
	if s.source > 0 {
		next := &m.names.offsets[s.source]
		o.Source, o.Offset = fmt.Sprint("source ", s.source), *next+uint64(s.skip)
		*next = o.Offset + uint64(n)
	}
	a, err := m.store.AppendWith(m.ctx, b, o)
	if a.Known != 0 {
		return fmt.Errorf("%d entries of a new batch are known", a.Known)
	}
	if a.Kept > 0 { // else it is not remembered
		m.names.batches = append(m.names.batches, namedBatch{b, o, m.clock.Load()})
	}
	return m.ref.append(s.tenant, b, err, m.clock.Load())
}

// A retryStep appends a batch again that was acknowledged before: nothing of it
// is kept once more.
type retryStep struct{ which int } // in thousandths of the batches that have names

func (s retryStep) String() string { return fmt.Sprintf("retry(%d)", s.which) }

func (s retryStep) run(m *model) error {
	list := m.names.batches
	if len(list) == 0 {
		return nil
	}
	b := list[s.which*len(list)/1000]
	if m.isForgotten(&b) {
		return nil
	}
	n := 0
	for _, st := range b.batch {
		n += len(st.Entries)
	}
	a, err := m.store.AppendWith(m.ctx, b.batch, b.o)
	if a.Kept != 0 || a.Known != n || err != nil {
		return fmt.Errorf("the retry of a batch of %d entries: %w", n, errors.Join(fmt.Errorf("%d kept, %d known", a.Kept, a.Known), err))
	}
	return nil
}
