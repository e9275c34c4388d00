package server

import (
	"sync"

	"github.com/stele-go/stele/logstore"
)

// refusedBefore remembers what was refused of pushes, so that one that is sent again, since
// its client has not seen the answer, gets the same one: the store knows its entries, and says
// nothing more about them. It remembers the last ones only, until the server ends.
type refusedBefore struct {
	mu     sync.Mutex
	pushes map[pushName]*statusError
	order  []pushName // the oldest one is at next once it is full
	next   int
	bytes  int
}

// A pushName names a push: its tenant, and the key of its batch.
type pushName struct {
	tenant string
	key    [16]byte
}

const (
	maxBefore      = 1000    // pushes
	maxBeforeBytes = 4 << 20 // of their answers
)

// tell returns the answer to a push of which given became: err if that is not nil, or else
// the one before if all was known.
func (b *refusedBefore) tell(name pushName, given *logstore.Appended, err *statusError) error {
	if name.key != [16]byte{} && (err != nil || given.Known > 0) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if before := b.pushes[name]; before != nil && given.Known > 0 {
			return before
		}
		if err != nil && given.Kept+given.Known > 0 { // else the store looks at all of it again
			b.put(name, err)
		}
	}
	if err == nil {
		return nil
	}
	return err
}

// put remembers an answer. mu is held.
func (b *refusedBefore) put(name pushName, err *statusError) {
	if b.pushes == nil {
		b.pushes = map[pushName]*statusError{}
	}
	if old := b.pushes[name]; old != nil {
		b.bytes += len(err.text) - len(old.text)
		b.pushes[name] = err
		return
	}
	for len(b.pushes) > 0 && (len(b.pushes) == maxBefore || b.bytes+len(err.text) > maxBeforeBytes) {
		b.forget()
	}
	b.pushes[name] = err
	b.order = append(b.order, name)
	b.bytes += len(err.text)
}

// forget forgets the oldest push.
func (b *refusedBefore) forget() {
	oldest := b.order[b.next]
	b.bytes -= len(b.pushes[oldest].text)
	delete(b.pushes, oldest)
	if b.next++; b.next*2 >= len(b.order) {
		b.order = append(b.order[:0], b.order[b.next:]...)
		b.next = 0
	}
}
