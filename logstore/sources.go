package logstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A SourceInfo says what a store knows of a source; see AppendOptions.Source.
type SourceInfo struct {
	Name string
	// Offset is that of the newest entry: the next one is Offset+1, or what is higher.
	Offset uint64
	// Position is that of the record with the entry.
	Position uint64
}

// Source returns what the store knows of a source of a tenant; ok is false if it does
// not know it. A batch of the source whose append has returned is counted, and one that
// is under way is or is not. Source waits until the store is ready. Its errors are those of
// ctx and of Store.Ready, ErrClosed, and those of a wrong name.
func (s *Store) Source(ctx context.Context, tenant, name string) (info SourceInfo, ok bool, err error) {
	if err := s.awaitSources(ctx, tenant, name); err != nil {
		return info, false, err
	}
	info, ok = s.idempotency.source(tenant, name)
	return info, ok, nil
}

// Sources returns the sources of a tenant by name: the first limit of those whose name is
// not less than from. If there are more, the error is ErrMore, and the others follow from
// the last name and "\x00" on. Those of Import are left out. Other errors are those of Source,
// without a result.
func (s *Store) Sources(ctx context.Context, tenant, from string, limit int) ([]SourceInfo, error) {
	if err := setting.AtLeast("logstore: Sources: limit", limit, 1); err != nil {
		return nil, err
	}
	if err := s.awaitSources(ctx, tenant, ""); err != nil {
		return nil, err
	}
	list := s.idempotency.sourcesOf(tenant, from, limit)
	if len(list) > limit {
		return list[:limit], s.opError("sources of", ErrMore)
	}
	return list, nil
}

// ForgetSource makes the store forget a source of a tenant, as a file that is deleted: its
// name is free for another one, whose offsets begin anywhere, and counts no more for
// ErrTooManySources. The entries stay. Batches of the source that are under way are
// waited for, and one that is appended later is that of a new source; so nothing is
// kept from being appended twice by that name any more.
//
// When ForgetSource returns nil, it survives what Options.Level names. Where damage has
// taken the list of sources in the newest segment, which Open tells as an EventDamage,
// that of an older one counts, and a source that was forgotten since may be known again. A
// source that is not known is no error. Errors are those of Append; after one that wraps ErrUnsure the
// source may be forgotten after the next Open.
func (s *Store) ForgetSource(ctx context.Context, tenant, name string) error {
	s.closeMu.RLock()
	defer s.closeMu.RUnlock()
	err := checkSource(tenant, name)
	if err == nil && (name == "" || strings.HasPrefix(name, importPrefix)) {
		err = setting.Wrong("logstore: ForgetSource: name", strconv.Quote(name), "the name of a source, not one that begins with %q, as those of Import do", importPrefix)
	}
	if err == nil {
		err = s.checkAppend(ctx)
	}
	if err == nil {
		err = s.forgetSource(ctx, tenant, name)
	}
	if err != nil {
		return s.opError("forget a source of", err)
	}
	return nil
}

func (s *Store) forgetSource(ctx context.Context, tenant, name string) error {
	d := s.idempotency
	d.mu.Lock()
	id := sourceID{d.enterTenant(tenant), name}
	turn := batchTurn{of: d, tenant: id.tenant}
	defer turn.end()
	err := waitTurn(ctx, s.closed, &d.mu, d.sourceTurns, id)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	turn.source = id
	if _, known := d.source(tenant, name); !known {
		return nil
	}
	if err := s.beginTerm(); err != nil {
		return err
	}
	// A record of all sources must not be written from a list that has this one.
	s.sourcesMu.Lock()
	defer s.sourcesMu.Unlock()
	// Inside the memtable, so that a seal which truncates the log there knows of it. A
	// segment that ends before may lack the source too early, while the log still has
	// the record that says so, or nobody was told that it is forgotten.
	m := s.enter()
	defer m.leave()
	if _, err := s.appendState(forgetItem(tenant, name)); err != nil {
		return s.logError(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(id)
	return nil
}

// awaitSources waits until the store knows its sources.
func (s *Store) awaitSources(ctx context.Context, tenant, name string) error {
	err := checkSource(tenant, name)
	switch {
	case err != nil:
	case s.log == nil:
		err = errUnopened
	default:
		err = s.awaitReplay(ctx)
	}
	if failed := s.replay.err.Load(); err == nil && failed != nil {
		err = *failed
	}
	if err != nil {
		return s.opError("sources of", err)
	}
	return nil
}

func checkSource(tenant, name string) error {
	if len(name) > maxSource {
		return setting.Wrong("logstore: name of a source", setting.Bytes(len(name)), "at most %d", maxSource)
	}
	return checkTenant("logstore: tenant of a source", tenant)
}

// forgetItem says that a source is forgotten.
func forgetItem(tenant, name string) stateItem {
	return stateItem{stateForget, appendString(appendString(nil, tenant), name)}
}

// forgotten returns the source that the item says is forgotten.
func (it stateItem) forgotten() (tenant, name string, err error) {
	r := recordReader{p: it.data}
	t, err := r.bytes()
	if err == nil {
		name, err = r.name("source", maxSource)
	}
	if err == nil && (r.off < len(r.p) || len(t) > maxTenant) {
		err = r.bad("a source that is not one")
	}
	return string(t), name, err
}

// sinceItem says that all sources are forgotten but those that records from a position on
// name; 0 stands for the position of the item.
func sinceItem(position uint64) stateItem {
	return stateItem{stateSourcesSince, binary.AppendUvarint(nil, position)}
}

// since returns the position of the item, which is in the record at pos.
func (it stateItem) since(pos uint64) (uint64, error) {
	n, w := binary.Uvarint(it.data)
	if w <= 0 || w != len(it.data) || n > pos {
		return 0, fmt.Errorf("%w: sources since a position that is not one", errRecord)
	}
	if n == 0 {
		n = pos
	}
	return n, nil
}

// forgotMark stands among the sources of a segment if some source was ever forgotten: it
// makes a section where no source is left, and tells that older segments may have more
// sources than there are.
var forgotMark = segment2.BatchSource{}

func isForgotMark(o *sourceOffset) bool { return o.source == "" }

// source returns what is known of a source.
func (d *idempotency) source(tenant, name string) (info SourceInfo, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	number, ok := d.tenants.find(tenant)
	if !ok {
		return info, false
	}
	k, ok := d.sources[sourceID{number, name}]
	return SourceInfo{name, k.offset, k.position}, ok
}

// sourcesOf returns the first sources of a tenant with names from a name on, in order: one
// more than limit, if there are so many. It keeps no more than twice as many.
func (d *idempotency) sourcesOf(tenant, from string, limit int) (list []SourceInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	number, ok := d.tenants.find(tenant)
	if !ok {
		return nil
	}
	cut := func() {
		slices.SortFunc(list, func(a, b SourceInfo) int { return strings.Compare(a.Name, b.Name) })
		if len(list) > limit { // which may be the highest int
			list = list[:limit+1]
		}
	}
	end, bounded := "", false // the names that are wanted lie before
	for id, k := range d.sources {
		if id.tenant != number || id.name < from || bounded && id.name >= end || strings.HasPrefix(id.name, importPrefix) {
			continue
		}
		list = append(list, SourceInfo{id.name, k.offset, k.position})
		if len(list)/2 > limit {
			cut()
			end, bounded = list[limit].Name, true
		}
	}
	cut()
	return list
}

// forget forgets a source. mu is held.
func (d *idempotency) forget(id sourceID) {
	d.forgot = true
	if _, ok := d.sources[id]; !ok {
		return
	}
	delete(d.sources, id)
	d.sourceBytes -= int64(sourceBytes + len(id.name))
	if d.tenantHas[id.tenant]--; d.tenantHas[id.tenant] == 0 {
		delete(d.tenantHas, id.tenant)
		if id.tenant != 0 {
			d.sourceTenantBytes -= int64(tenantNameBytes + len(d.tenants.name(id.tenant)))
		}
	}
	d.useTenant(id.tenant, -1)
}

// replayForget applies a forgetItem.
func (d *idempotency) replayForget(tenant, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgot = true
	if number, ok := d.tenants.find(tenant); ok {
		d.forget(sourceID{number, name})
	}
}

// replaySince applies a sinceItem.
func (d *idempotency) replaySince(position uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgot = true
	for id, k := range d.sources {
		if k.named < position {
			d.forget(id)
		}
	}
}
