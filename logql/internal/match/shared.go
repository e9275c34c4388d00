package match

import (
	"sync"
	"sync/atomic"
)

// A Shared is a Matcher whose automata are charged. Many goroutines may use one at once: each
// has a Searcher of its own meanwhile. There are about as many as goroutines at once, and they
// stay until Release.
type Shared struct {
	*Matcher
	grow func(bytes int64) bool
	held atomic.Int64 // bytes that grow has allowed

	// idle has searchers that no goroutine uses. A collection of garbage empties it, so that
	// all has them too.
	idle sync.Pool
	mu   sync.Mutex
	all  []*sharedSearcher
}

type sharedSearcher struct {
	*Searcher
	used atomic.Bool // by a goroutine
}

// NewShared returns a Shared of m. grow is that of dfa.New.
func (m *Matcher) NewShared(grow func(bytes int64) bool) *Shared {
	return &Shared{Matcher: m, grow: grow}
}

func (s *Shared) hold(bytes int64) bool {
	ok := s.grow(bytes)
	if ok {
		s.held.Add(bytes)
	}
	return ok
}

// Match reports whether text has a match.
func (s *Shared) Match(text []byte) bool {
	if match, known := s.search(text); known {
		return match
	}
	of := s.take()
	match := of.run(text)
	of.used.Store(false) // and not deferred: one that has panicked is not used again
	s.idle.Put(of)
	return match
}

// take returns a searcher that no other goroutine uses.
func (s *Shared) take() *sharedSearcher {
	for {
		of, _ := s.idle.Get().(*sharedSearcher)
		if of == nil {
			return s.takeOfAll()
		}
		if of.used.CompareAndSwap(false, true) { // else takeOfAll has returned it
			return of
		}
	}
}

// takeOfAll is take without idle.
func (s *Shared) takeOfAll() *sharedSearcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.all {
		if of.used.CompareAndSwap(false, true) {
			return of
		}
	}
	var grow func(bytes int64) bool
	if s.grow != nil {
		grow = s.hold
	}
	of := &sharedSearcher{Searcher: s.NewSearcher(grow)}
	of.used.Store(true)
	s.all = append(s.all, of)
	return of
}

// Release drops the automata, and gives back what they were allowed to take. No goroutine uses
// s meanwhile; later ones begin anew.
func (s *Shared) Release() {
	s.idle, s.all = sync.Pool{}, nil
	if n := s.held.Swap(0); n > 0 {
		s.grow(-n)
	}
}
