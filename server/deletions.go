package server

import (
	"cmp"
	"net/http"
	"slices"
	"sync"

	"github.com/stele-go/stele/logstore"
)

// keptDeletions is how many deletions that have been processed are listed.
const keptDeletions = 1000

// deletions remembers the deletions since the start of the server: the store knows only those
// that are pending.
type deletions struct {
	mu   sync.Mutex
	list []logstore.PendingDeletion // by position
	// later has, by position, the deletion that covers another one of the list. The store has
	// that one in its place: it is pending as long as the later one is.
	later map[uint64]uint64
}

// add has the store delete, and adds the deletion. pending returns those that the store has.
// Both happen while none is listed: one that the new one covers would seem processed meanwhile.
func (d *deletions) add(pending func() []logstore.PendingDeletion, del func() (logstore.PendingDeletion, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := pending()
	p, err := del()
	if err != nil {
		return err
	}
	d.insert(p)
	for _, o := range before {
		if o.Position < p.Position && covers(&p.Deletion, &o.Deletion) {
			d.insert(o)
			if d.later == nil {
				d.later = map[uint64]uint64{}
			}
			d.later[o.Position] = p.Position
		}
	}
	if n := len(d.list) - 2*keptDeletions; n > 0 {
		for _, o := range d.list[:n] {
			delete(d.later, o.Position)
		}
		d.list = slices.Delete(d.list, 0, n)
	}
	return nil
}

// covers reports whether all that o deletes is deleted by p, a later one, as the store
// decides it.
func covers(p, o *logstore.Deletion) bool {
	return p.Tenant == o.Tenant && p.From <= o.From && (p.To == 0 || o.To != 0 && o.To <= p.To) &&
		!slices.ContainsFunc(p.Lines, func(m logstore.LineMatch) bool { return !slices.Contains(o.Lines, m) }) &&
		!slices.ContainsFunc(p.Selector, func(m logstore.Matcher) bool {
			return !slices.ContainsFunc(o.Selector, func(o logstore.Matcher) bool { return o.Name == m.Name && o.Op == m.Op && o.Value == m.Value })
		})
}

func (d *deletions) insert(p logstore.PendingDeletion) {
	i, found := slices.BinarySearchFunc(d.list, p.Position, func(p logstore.PendingDeletion, pos uint64) int {
		return cmp.Compare(p.Position, pos)
	})
	if !found {
		d.list = slices.Insert(d.list, i, p)
	}
}

// last returns the position of the deletion that the store has for the one at a position.
// mu is held.
func (d *deletions) last(position uint64) uint64 {
	for {
		later, ok := d.later[position]
		if !ok {
			return position
		}
		position = later
	}
}

// cancel has the store cancel a deletion, and forgets it and those that were cancelled with it.
// Both happen while none is listed: it would seem processed meanwhile.
func (d *deletions) cancel(position uint64, cancel func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := cancel(); err != nil {
		return err
	}
	var gone []uint64
	d.list = slices.DeleteFunc(d.list, func(p logstore.PendingDeletion) bool {
		is := d.last(p.Position) == position
		if is {
			gone = append(gone, p.Position)
		}
		return is
	})
	for _, position := range gone {
		delete(d.later, position)
	}
	return nil
}

// notPending returns why a deletion that the store does not have cannot be cancelled.
func (d *deletions) notPending(tenant string, position uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.ContainsFunc(d.list, func(p logstore.PendingDeletion) bool { return p.Position == position && p.Tenant == tenant }) {
		return errNoDeletion
	}
	if last := d.last(position); last != position {
		return refuse(http.StatusBadRequest, "deletion %s cannot be cancelled: a later one, %s, deletes its entries too", requestID(position), requestID(last))
	}
	return refuse(http.StatusBadRequest, "deletion %s cannot be cancelled: it has been processed", requestID(position))
}

// A listedDeletion is a deletion of a tenant with its state.
type listedDeletion struct {
	logstore.PendingDeletion
	state string
}

// of lists the deletions of a tenant, by position. pending returns those that the store has: it is
// asked while none is added or removed, else one that was added meanwhile would be listed as
// processed, and one that was cancelled would come back.
func (d *deletions) of(tenant string, pending func() []logstore.PendingDeletion) (list []listedDeletion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	isPending := map[uint64]bool{}
	for _, p := range pending() {
		isPending[p.Position] = true
		d.insert(p)
	}
	processed := 0
	for i := len(d.list) - 1; i >= 0; i-- { // the newest ones stay
		p := d.list[i]
		state := stateReceived
		if !isPending[d.last(p.Position)] {
			if state = stateProcessed; processed == keptDeletions {
				d.list = slices.Delete(d.list, i, i+1)
				delete(d.later, p.Position)
				continue
			}
			processed++
		}
		if p.Tenant == tenant {
			list = append(list, listedDeletion{p, state})
		}
	}
	slices.Reverse(list)
	return list
}
