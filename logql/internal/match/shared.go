package match

import (
	"sync"
	"sync/atomic"
)

// A Shared is a Matcher whose automata are charged. Many goroutines may use one at once: each
// has a Searcher of its own meanwhile.
type Shared struct {
	*Matcher
	grow      func(bytes int64) bool
	held      atomic.Int64 // bytes that grow has allowed
	searchers sync.Pool
}

// NewShared returns a Shared of m. grow is that of dfa.New.
func (m *Matcher) NewShared(grow func(bytes int64) bool) *Shared {
	s := &Shared{Matcher: m, grow: grow}
	s.searchers.New = s.newSearcher
	return s
}

func (s *Shared) newSearcher() any {
	if s.grow == nil {
		return s.NewSearcher(nil)
	}
	return s.NewSearcher(s.hold)
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
	of := s.searchers.Get().(*Searcher)
	defer s.searchers.Put(of)
	return of.Match(text)
}

// Release drops the automata, and gives back what they were allowed to take. No goroutine uses
// s meanwhile; later ones begin anew.
func (s *Shared) Release() {
	s.searchers = sync.Pool{New: s.newSearcher}
	if n := s.held.Swap(0); n > 0 {
		s.grow(-n)
	}
}
