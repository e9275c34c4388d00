package logstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/durability"
)

var (
	// ErrNoDeletion reports a deletion that is not pending: see Store.CancelDeletion.
	ErrNoDeletion = errors.New("no such deletion is pending")
	// ErrDeletionApplied reports a deletion that cannot be cancelled any more: see
	// Store.CancelDeletion.
	ErrDeletionApplied = errors.New("the deletion has been applied to some entries")
)

// CancelDeletion cancels the deletion of a tenant whose position Delete has returned, and
// queries that begin later find its entries again. A deletion that was repeated is
// cancelled by the position of the last one, which stands for all. Segments are not rewritten
// for a deletion alone within a minute, or until the store is opened again.
//
// When it returns nil, that lasts as what Delete says. Errors: ErrNoDeletion, if no deletion
// of the tenant with that position is pending; ErrDeletionApplied, if a compaction has
// taken some of its entries, or has begun to, or if it stands for an earlier deletion of
// fewer entries (PendingDeletion.Applied); and those of Delete. After ErrUnsure it may be
// cancelled.
func (s *Store) CancelDeletion(ctx context.Context, tenant string, position uint64) error {
	s.closeMu.RLock()
	defer s.closeMu.RUnlock()
	err := s.checkChange(ctx)
	if err == nil {
		err = s.cancelDeletion(tenant, position)
	}
	if err != nil {
		return s.opError("cancel a deletion in", err)
	}
	return nil
}

func (s *Store) cancelDeletion(tenant string, position uint64) error {
	ds := &s.deletions
	ds.mu.Lock()
	defer ds.mu.Unlock()
	p := ds.at(position)
	if p == nil || p.Deletion.Tenant != tenant {
		return fmt.Errorf("%w: position %d, tenant %q", ErrNoDeletion, position, tenant)
	}
	if p.final.Load() {
		return fmt.Errorf("%w: position %d", ErrDeletionApplied, position)
	}
	if err := s.beginTerm(); err != nil {
		return err
	}
	if _, err := s.appendState(cancelItem(position)); err != nil {
		return s.logError(err)
	}
	ds.set(slices.DeleteFunc(slices.Clone(ds.all()), func(o *deletion) bool { return o == p }))
	return nil
}

// at returns the pending deletion with a position, or nil. mu is held.
func (ds *deletions) at(position uint64) *deletion {
	all := ds.all()
	i := slices.IndexFunc(all, func(p *deletion) bool { return p.Position == position })
	if i < 0 {
		return nil
	}
	return all[i]
}

// taking is called before a compaction takes entries of the deletions at some positions,
// which cannot be cancelled from then on: the log says so. ok is false if one of them is
// not pending any more.
func (s *Store) taking(positions []uint64) (ok bool, err error) {
	ds := &s.deletions
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var list []*deletion
	for _, pos := range positions {
		p := ds.at(pos)
		if p == nil {
			return false, nil
		}
		if !p.final.Load() {
			list = append(list, p)
		}
	}
	for _, p := range list {
		p.final.Store(true)
		pos, err := s.appendState(p.item())
		if err != nil && !isFull(err) { // what is deleted may be what frees space
			p.final.Store(false)
			return false, fmt.Errorf("that a deletion is being applied: %w", err)
		}
		p.logged = max(p.logged, pos)
	}
	if len(list) == 0 {
		return true, nil
	}
	ds.set(slices.Clone(ds.all())) // they take more bytes
	if s.o.Level != durability.Power {
		// The compaction lasts: so must this.
		if err := s.log.Sync(context.Background()); err != nil && !isFull(err) {
			for _, p := range list { // it is written again
				p.final.Store(false)
			}
			return false, fmt.Errorf("that a deletion is being applied: %w", err)
		}
	}
	return true, nil
}

// standFor notes that p, a later deletion, takes the place of o: where that has fewer
// entries, or is final, p is final too.
func (p *deletion) standFor(o *deletion) {
	if o.final.Load() || !o.covers(p) {
		p.final.Store(true)
	}
}

// cancelItem says that the deletion with a position is cancelled.
func cancelItem(position uint64) stateItem {
	return stateItem{stateCancel, binary.AppendUvarint(nil, position)}
}

// cancelled returns the position of the deletion that the item says is cancelled.
func (it stateItem) cancelled() (uint64, error) {
	n, w := binary.Uvarint(it.data)
	if w <= 0 || w != len(it.data) {
		return 0, fmt.Errorf("%w: a cancelled deletion without a position", errRecord)
	}
	return n, nil
}

// withoutCancelled returns the deletions that stay where the one with a position is
// cancelled: it stood for equal ones before it.
func withoutCancelled(all []*deletion, position uint64) []*deletion {
	i := slices.IndexFunc(all, func(p *deletion) bool { return p.Position == position })
	if i < 0 {
		return all
	}
	p := all[i]
	return slices.DeleteFunc(slices.Clone(all), func(o *deletion) bool {
		return o.Position == position || o.Position < position && p.covers(o) && o.covers(p)
	})
}
