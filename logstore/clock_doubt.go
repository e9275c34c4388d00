package logstore

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A clockDoubt carries the doubt about the clock from one life of a store to the next, by
// items of records of state:
//
//	clock  uvarints: Time and Last in nanoseconds since the Unix epoch, Agreed in
//	       nanoseconds, see catalog.Doubt; all 0: none
//
// The records that a life writes anyway, of its term and of the roster, have it, and Close
// appends one before its sync. A doubt that ends, as the clock says something else, gets a
// record at once, so that what came before is not counted again after a crash. Nothing is
// written while the clock is believed.
type clockDoubt struct {
	mu    sync.Mutex
	saved catalog.Doubt // as the log has it
}

// retains reports whether anything is deleted by time.
func (o *Options) retains() bool { return o.Retention > 0 || o.Tenants != nil }

func doubtItem(d catalog.Doubt) stateItem {
	var data []byte
	for _, v := range [...]int64{d.Time, d.Last, int64(d.Agreed)} {
		data = binary.AppendUvarint(data, uint64(max(0, v)))
	}
	return stateItem{stateClock, data}
}

func (it stateItem) doubt() (d catalog.Doubt, err error) {
	r, v := recordReader{p: it.data}, [3]uint64{}
	if err := r.numbers(v[:]); err != nil {
		return d, err
	}
	return catalog.Doubt{Time: int64(v[0]), Last: int64(v[1]), Agreed: time.Duration(v[2])}, nil
}

// withDoubt adds the item of the doubt to the items of a record, if there is a doubt now or
// in the log. saved is called once the record is written.
func (s *Store) withDoubt(items []stateItem) (list []stateItem, saved func()) {
	if s.catalog == nil || !s.o.retains() { // nil: the segments are being opened
		return items, func() {}
	}
	c := &s.doubt
	d := s.catalog.Doubt()
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Agreed == 0 {
		d = catalog.Doubt{}
	}
	if d.Agreed == 0 && c.saved.Agreed == 0 {
		return items, func() {}
	}
	return append(slices.Clip(items), doubtItem(d)), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.saved = d
	}
}

// endDoubt tells the log that its doubt has ended.
func (s *Store) endDoubt() {
	if s.o.recordVersion == 1 || !s.o.retains() {
		return
	}
	var err error
	if s.doubt.isSaved() && s.catalog.Doubt().Agreed == 0 {
		_, err = s.appendState()
	}
	s.bgErrors.set("telling the log about the clock", err)
}

// keepDoubt tells the log the doubt in which this life ends. If it fails, the next life
// goes on from what the log has, and retention waits longer.
func (s *Store) keepDoubt() {
	if !s.readOnly && s.o.recordVersion != 1 && s.o.retains() && (s.catalog.Doubt().Agreed > 0 || s.doubt.isSaved()) {
		_, _ = s.appendState()
	}
}

func (c *clockDoubt) isSaved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved.Agreed > 0
}
