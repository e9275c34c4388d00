package logstore

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// A term is the number of a life of a store. 0 is unknown.
type term [8]byte

func newTerm() (t term) {
	rand.Read(t[:])
	return t
}

// number returns the term as segments have it.
func (t term) number() uint64 { return binary.LittleEndian.Uint64(t[:]) }

func (t term) item() stateItem { return stateItem{stateTerm, t[:]} }

func (it stateItem) term() (t term, err error) {
	if len(it.data) != len(t) {
		return t, fmt.Errorf("%w: a term of %d bytes; want %d", errRecord, len(it.data), len(t))
	}
	return term(it.data), nil
}

// terms are the lives of a store that its log and its newest segment know.
type terms struct {
	current term // drawn by Open

	mu      sync.Mutex  // while the term is written
	written atomic.Bool // current is in the log

	listMu sync.Mutex
	list   []termStart // by position
}

// A termStart is the position from which on records are of a term.
type termStart struct{ from, term uint64 }

// begin notes that the records from a position on are of a term.
func (t *terms) begin(from, term uint64) {
	t.listMu.Lock()
	defer t.listMu.Unlock()
	i := len(t.list)
	for i > 0 && t.list[i-1].from > from { // Open may write its term before it replays others
		i--
	}
	t.list = slices.Insert(t.list, i, termStart{from, term})
}

// at returns the term in which the record at a position was written, 0 if that is
// not known.
func (t *terms) at(pos uint64) (term uint64) {
	t.listMu.Lock()
	defer t.listMu.Unlock()
	for _, s := range t.list {
		if s.from <= pos {
			term = s.term
		}
	}
	return term
}

// replayed notes the term of a record at a position.
func (t *terms) replayed(it stateItem, pos uint64) error {
	term, err := it.term()
	if err == nil {
		t.begin(pos, term.number())
	}
	return err
}

// writeTerm appends the items with one that tells the term: that it begins, or goes on.
func (s *Store) writeTerm(items []stateItem) (pos uint64, err error) {
	t := &s.terms
	if t.written.Load() {
		return s.appendState(append([]stateItem{{stateTermGoesOn, t.current[:]}}, items...)...)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written.Load() {
		return s.appendState(append([]stateItem{{stateTermGoesOn, t.current[:]}}, items...)...)
	}
	pos, err = s.appendState(append([]stateItem{t.current.item()}, items...)...)
	if err == nil {
		t.begin(pos, t.current.number())
		t.written.Store(true)
	}
	return pos, err
}

// beginTerm writes the term, before the first entries of this life.
func (s *Store) beginTerm() error {
	t := &s.terms
	if t.written.Load() || s.o.recordVersion == 1 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written.Load() {
		return nil
	}
	pos, err := s.appendState(t.current.item())
	if err != nil {
		return s.logError(err)
	}
	t.begin(pos, t.current.number())
	t.written.Store(true)
	return nil
}
