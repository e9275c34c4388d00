package logstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// A lowest collects distinct texts, and with a limit those that come first. Many
// goroutines may use it at once.
type lowest struct {
	after   string // the texts are behind this one, unless it is ""
	limit   int    // 0: none
	compare func(a, b string) int
	memory  *allowance
	ctx     context.Context // of the search

	mu    sync.Mutex
	texts map[string]struct{}
	more  bool   // some were dropped: those behind last
	last  string // the last that may be within the limit
}

func newLowest(x *search, after string, limit int, compare func(a, b string) int) *lowest {
	return &lowest{after: after, limit: limit, compare: compare, memory: &x.sums, ctx: x.ctx, texts: map[string]struct{}{}}
}

// textMemory is about the memory of a text in a map, beside its bytes.
const textMemory = 2 * int64(unsafe.Sizeof(""))

// has reports whether texts would change nothing.
func (l *lowest) has(texts []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range texts {
		if !l.known(t) {
			return false
		}
	}
	return true
}

// known reports whether a text is there, was dropped, or is not asked for. mu is
// held.
func (l *lowest) known(text string) bool {
	_, ok := l.texts[text]
	return ok || l.more && l.compare(text, l.last) > 0 || l.after != "" && l.compare(text, l.after) <= 0
}

// add adds copies of texts. The error is that of the memory, or the cause of the
// context of the search.
func (l *lowest) add(texts []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range texts {
		if l.known(t) {
			continue
		}
		if err := l.memory.charge(textMemory + int64(len(t))); err != nil {
			return err
		}
		l.texts[strings.Clone(t)] = struct{}{}
		if l.limit > 0 && len(l.texts) >= 2*l.limit+64 {
			if _, err := l.cut(l.ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut drops the texts behind the limit, and returns the others in order. mu is
// held.
func (l *lowest) cut(ctx context.Context) ([]string, error) {
	list := make([]string, 0, len(l.texts))
	list = slices.AppendSeq(list, maps.Keys(l.texts))
	if err := sortFunc(ctx, list, l.compare); err != nil {
		return nil, err
	}
	if l.limit == 0 || len(list) <= l.limit {
		return list, nil
	}
	freed := int64(0)
	for _, t := range list[l.limit:] {
		freed += textMemory + int64(len(t))
		delete(l.texts, t)
	}
	_ = l.memory.charge(-freed) // less is never refused
	list = list[:l.limit]
	l.more, l.last = true, list[l.limit-1]
	return list, nil
}

// result returns the texts in order, and whether there are more. The error is the
// cause of ctx.
func (l *lowest) result(ctx context.Context) (list []string, more bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, err = l.cut(ctx)
	return list, l.more, err
}
