package logstore

import (
	"slices"
	"sync"
	"unsafe"
)

// An EntryMatcher decides which entries match. One goroutine uses it at a time, so it
// may keep what it needs from line to line: buffers, and what it found out of a stream.
type EntryMatcher interface {
	// Stream begins entries of a stream: a stream may come several times. If it returns
	// false none of them matches, and Match is not called before the next Stream.
	Stream(labels Labels) bool
	// Match reports whether an entry of the stream matches: its time, in nanoseconds
	// since the Unix epoch, its line and its metadata. Line and metadata are valid
	// during the call only.
	Match(time int64, line []byte, metadata Labels) bool
}

// EntryFilter matches the entries that EntryMatchers match. Each goroutine that reads
// for a query uses one of its own, which it gets by begin; begin is called at most as
// often as goroutines of a query read at once, by one at a time. No EntryMatcher is in
// use once the query has ended. A panic in either is the *PanicError of the query.
//
// Match of the Filter, which knows neither stream nor time, gives the EntryMatcher the
// empty set of labels and time 0.
func EntryFilter(begin func() EntryMatcher) Filter {
	c := &condition{cost: costCaller, begin: func() matcher { return &callerMatcher{of: begin()} }}
	c.match = c.matchAlone
	return c
}

// A matcher is a condition with the state of one goroutine.
type matcher interface {
	// stream begins a stream, of which no entry matches if it returns false.
	stream(labels Labels) bool
	match(e *matched) bool
}

// A matched entry is one that a matcher is asked about.
type matched struct {
	time       int64
	line, meta []byte

	metadata metadataView
}

// A metadataView has metadata as Labels without copying them: neighbours often have the
// same. It is for entries whose bytes stay as they are while it is used.
type metadataView struct{ of Labels }

// set points the view at encoded metadata, which may come from a damaged file.
func (v *metadataView) set(enc []byte) (Labels, error) {
	if string(enc) == v.of.enc {
		return v.of, nil
	}
	l := Labels{unsafe.String(unsafe.SliceData(enc), len(enc))}
	if err := checkLabels(l.enc); err != nil {
		return Labels{}, err
	}
	v.of = l
	return l, nil
}

// matchAlone is match for a condition that asks for more than line and metadata.
func (c *condition) matchAlone(line, meta []byte) bool {
	m := c.begin()
	return m.stream(Labels{}) && m.match(&matched{line: line, meta: meta})
}

// matcher returns the condition with the state of one goroutine.
func (c *condition) matcher() matcher {
	if c.begin != nil {
		return c.begin()
	}
	return lineMatcher(c.match)
}

func matchers(of []*condition) []matcher {
	list := make([]matcher, len(of))
	for i, c := range of {
		list[i] = c.matcher()
	}
	return list
}

// A lineMatcher is a condition without state.
type lineMatcher func(line, meta []byte) bool

func (lineMatcher) stream(Labels) bool      { return true }
func (m lineMatcher) match(e *matched) bool { return m(e.line, e.meta) }

// A callerMatcher is the EntryMatcher of a caller.
type callerMatcher struct{ of EntryMatcher }

func (m *callerMatcher) stream(labels Labels) bool { return m.of.Stream(labels) }

func (m *callerMatcher) match(e *matched) bool {
	metadata, err := e.metadata.set(e.meta)
	return err == nil && m.of.Match(e.time, e.line, metadata)
}

// allMatcher is All.
type allMatcher []matcher

func (all allMatcher) stream(labels Labels) bool {
	for _, m := range all {
		if !m.stream(labels) {
			return false
		}
	}
	return true
}

func (all allMatcher) match(e *matched) bool {
	for _, m := range all {
		if !m.match(e) {
			return false
		}
	}
	return true
}

// anyMatcher is Any. on has those that may match an entry of the stream.
type anyMatcher struct{ of, on []matcher }

func (a *anyMatcher) stream(labels Labels) bool {
	a.on = a.on[:0]
	for _, m := range a.of {
		if m.stream(labels) {
			a.on = append(a.on, m)
		}
	}
	return len(a.on) > 0
}

func (a *anyMatcher) match(e *matched) bool {
	for _, m := range a.on {
		if m.match(e) {
			return true
		}
	}
	return false
}

// notMatcher is Not.
type notMatcher struct {
	of matcher
	on bool // it may match an entry of the stream
}

func (n *notMatcher) stream(labels Labels) bool {
	n.on = n.of.stream(labels)
	return true
}

func (n *notMatcher) match(e *matched) bool { return !n.on || !n.of.match(e) }

// needsEntries reports whether one of the conditions asks for more than line and
// metadata.
func needsEntries(list []*condition) bool {
	return slices.ContainsFunc(list, func(c *condition) bool { return c.begin != nil })
}

// idleMatchers are those of a search that no goroutine uses.
type idleMatchers struct {
	mu   sync.Mutex
	list []matcher
}

// take returns a matcher of c.
func (i *idleMatchers) take(c *condition) matcher {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.list); n > 0 {
		m := i.list[n-1]
		i.list = i.list[:n-1]
		return m
	}
	return c.begin()
}

func (i *idleMatchers) put(m matcher) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, m)
}
