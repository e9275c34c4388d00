package logstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A Deletion says which entries Delete deletes: those of the streams that Selector
// selects, with From <= time < To, whose lines meet all of Lines.
type Deletion struct {
	// Tenant is whose entries these are; "" is the tenant of Append.
	Tenant   string
	Selector Selector    // nil is all streams of the tenant
	Lines    []LineMatch // nil is all lines
	// From and To are in nanoseconds since the Unix epoch. To 0 means no end.
	From, To int64
}

// String returns a text such as
// `{app="api"} |= "secret" from 2027-01-15T08:00:00Z on, of tenant "a"`.
func (d Deletion) String() string {
	var b strings.Builder
	b.WriteString("{")
	for i, m := range d.Selector {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.String())
	}
	b.WriteString("}")
	for _, m := range d.Lines {
		b.WriteString(" " + m.String())
	}
	fmt.Fprintf(&b, " from %s", time.Unix(0, d.From).UTC().Format(time.RFC3339Nano))
	if d.To == 0 {
		b.WriteString(" on")
	} else {
		fmt.Fprintf(&b, " to before %s", time.Unix(0, d.To).UTC().Format(time.RFC3339Nano))
	}
	if d.Tenant != "" {
		fmt.Fprintf(&b, ", of tenant %q", d.Tenant)
	}
	return b.String()
}

// A PendingDeletion is a deletion of which files may still have entries.
type PendingDeletion struct {
	Deletion
	// Position is that of its record in the log, which Delete returned.
	Position uint64
	// Time is when it was acknowledged, by the clock, to the second.
	Time time.Time
	// Segments may still have such entries, in Bytes of files. They include files
	// that queries still use which have begun before they were rewritten.
	Segments int
	Bytes    int64
	// Applied: it cannot be cancelled any more, see Store.CancelDeletion.
	Applied bool
}

// ErrDeletions reports that no deletion is accepted before others are applied: see
// Store.Deletions. The error says what they wait for, and what to do.
var ErrDeletions = errors.New("too many deletions are pending")

// maxDeletionBytes bounds the encoded size of one deletion and that of all pending
// ones: the log keeps them beyond each seal.
const (
	maxDeletionBytes  = 32 << 10 // also of the texts of Lines
	maxDeletionsBytes = 256 << 10
)

// Delete deletes entries: those that d selects and whose Append has returned
// before. Entries whose Append is called after Delete has returned stay, whatever
// their times; of those appended meanwhile, the log's order decides. Entries of
// a block whose positions damage has lost count as appended before.
//
// When it returns nil, queries that begin later do not find the entries, and that
// lasts as an acknowledged batch does: at level Power it survives a power cut, at
// Kill kill -9. Queries that have begun before may still yield them, and so may a
// Tail or Follow whose consumer is behind. A pending deletion is in the log alone: where
// that is lost, for OpenSegments or a Repair, entries whose bytes are left are found
// again: the plan of the repair says so, and an EventUndeleted. An entry is too late (Options.LateWindow) as if
// the deleted ones were there, for as long as their bytes are.
//
// It returns the position of the deletion's record in the log, by which CancelDeletion takes
// it back until a compaction has taken some of its entries. A Deletion that has nothing
// but zero values is refused; with To math.MaxInt64 it deletes all entries.
//
// With Lines, a query reads the lines of blocks with such streams and times for as long as
// the deletion is pending, also where it would not else.
//
// A pending deletion whose entries are all among those of d is not listed any more, nor
// kept: d has its entries.
//
// Errors: ErrDeletions, if 1,000 deletions are pending, or 256 KiB of them, or as many as
// take a hundredth of Options.Memory (some 800 bytes each, and 2 KB or more with
// a regular expression), and those of Append, but not ErrLowSpace: a deletion frees
// space. A regular expression of more than 256 KiB when it is compiled (see Match) is
// refused: it stays for as long as the deletion is pending. Several deletions may
// have a part of it each. After ErrUnsure the entries may be gone.
func (s *Store) Delete(ctx context.Context, d Deletion) (position uint64, err error) {
	if err := d.checkPrograms(); err != nil {
		return 0, err
	}
	p := &deletion{Deletion: d.clone()}
	if p.gone, err = p.Deletion.compile(); err != nil {
		return 0, err
	}
	s.closeMu.RLock()
	defer s.closeMu.RUnlock()
	if err := s.checkChange(ctx); err != nil {
		return 0, s.opError("delete from", err)
	}
	if err := s.delete(p); err != nil {
		return 0, s.opError("delete from", err)
	}
	return p.Position, nil
}

// delete appends the record of a deletion, and adds it to the pending ones.
func (s *Store) delete(p *deletion) error {
	p.when, p.begun = max(0, s.o.now().Unix()), s.o.Clock.Elapsed()
	encoded := len(p.item().data)
	if s.deletions.full(p, encoded) {
		s.forgetDeletions() // perhaps some are over
	}
	ds := &s.deletions
	ds.mu.Lock()
	defer ds.mu.Unlock()
	others, ok := ds.fit(p, encoded)
	if !ok {
		return s.tooManyDeletions()
	}
	if err := s.beginTerm(); err != nil {
		return err
	}
	pos, err := s.appendState(p.item())
	if err != nil {
		return s.logError(err)
	}
	p.placed(pos)
	ds.set(append(others, p))
	return nil
}

// Deletions returns the deletions of which there may still be entries, in memory or
// in files, in the order in which they were acknowledged. A compaction leaves the
// entries out; a minute after a deletion segments are rewritten for that alone, one
// at a time and at Options.BackgroundRate, and Compact does it at once. A deletion is
// listed until the files with its entries have left the directory for good, which
// queries that have begun before delay. It is kept for segments that are missing, too:
// they may come back.
//
// Two places keep bytes for longer: the directory quarantine, where a person removes
// them, and the files of the log, which are overwritten when they are used again.
func (s *Store) Deletions() []PendingDeletion {
	var list []PendingDeletion
	for _, p := range s.deletions.all() {
		files, bytes := s.catalog.Remaining(p.Drop)
		list = append(list, PendingDeletion{p.Deletion.clone(), p.Position, time.Unix(p.when, 0), files, bytes, p.final.Load()})
	}
	return list
}

// check returns an error for the first wrong field.
func (d *Deletion) check() error {
	const pkg = "logstore: Deletion."
	if d.To != 0 && d.To <= d.From {
		return setting.Wrong(pkg+"To", d.To, "0 (no end), or more than Deletion.From, %d ns", d.From)
	}
	if d.Tenant == "" && len(d.Selector)+len(d.Lines) == 0 && d.From == 0 && d.To == 0 {
		return setting.Wrong(pkg+"Selector", d.Selector, "a matcher, as neither Tenant, Lines, From nor To is set; To %d means all entries", int64(math.MaxInt64))
	}
	return cmp.Or(checkTenant(pkg+"Tenant", d.Tenant), setting.AtLeast(pkg+"From", d.From, 0), setting.AtLeast(pkg+"To", d.To, 0))
}

// clone returns a copy that shares no memory with d.
func (d *Deletion) clone() Deletion {
	sel := slices.Clone(d.Selector)
	for i, m := range sel {
		sel[i] = Matcher{Name: strings.Clone(m.Name), Op: m.Op, Value: strings.Clone(m.Value)}
	}
	return Deletion{strings.Clone(d.Tenant), sel, cloneLines(d.Lines), d.From, d.To}
}

// compile returns what is gone by d, but for the position.
func (d *Deletion) compile() (g gone, err error) {
	if err := d.check(); err != nil {
		return g, err
	}
	if g.selector, err = d.Selector.compileLean(); err != nil {
		return g, err
	}
	if n := len((&deletion{Deletion: *d}).item().data); n > maxDeletionBytes {
		return g, setting.Wrong("logstore: Deletion.Selector and Lines", setting.Bytes(n), "at most %d", maxDeletionBytes)
	}
	test, lines, err := lineTest(d.Lines)
	if err != nil {
		return g, err
	}
	g.Drop = segment2.Drop{Tenant: d.Tenant, From: d.From, To: d.To, Line: test}
	g.Conditions, g.matches = g.selector.conditionsMatching()
	g.memory = g.size() + lines
	if g.To == 0 {
		g.To = math.MaxInt64
	}
	return g, nil
}

// A deletion is a Deletion in effect.
type deletion struct {
	Deletion
	gone
	when   int64         // seconds since the Unix epoch
	begun  time.Duration // by Clock.Elapsed, when it was acknowledged; 0: before Open
	logged uint64        // position of the last record that has it; deletions.mu guards it
	final  atomic.Bool   // it cannot be cancelled
}

// placed sets the position of a deletion.
func (p *deletion) placed(pos uint64) { p.Position, p.Before, p.logged = pos, pos, max(pos, p.logged) }

// deletions are the pending deletions of a store.
type deletions struct {
	mu      sync.Mutex   // held while one is added or removed
	bytes   int          // encoded
	most    int64        // bytes of memory
	held    atomic.Int64 // bytes of memory, without matches
	matches matchBudget
	list    atomic.Pointer[deletionList]
}

// A deletionList is immutable.
type deletionList struct {
	all  []*deletion         // by position
	gone map[string]*goneSet // by tenant
}

func (ds *deletions) all() []*deletion {
	if l := ds.list.Load(); l != nil {
		return l.all
	}
	return nil
}

// gone returns what queries of each tenant leave out.
func (ds *deletions) gone() map[string]*goneSet {
	if l := ds.list.Load(); l != nil {
		return l.gone
	}
	return nil
}

// begin sets the pending deletions to those that the log has.
func (ds *deletions) begin(found []*deletion) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var all []*deletion
	for _, p := range found {
		i := slices.IndexFunc(all, func(o *deletion) bool { return o.Position == p.Position })
		if i < 0 {
			all = append(all, p)
		} else {
			all[i].logged = max(all[i].logged, p.logged)
			all[i].final.Store(all[i].final.Load() || p.final.Load())
		}
	}
	// The log may have a later one first: what is kept is written again.
	slices.SortFunc(all, func(a, b *deletion) int { return cmp.Compare(a.Position, b.Position) })
	for i, o := range all {
		for _, p := range all[i+1:] {
			if p.covers(o) {
				p.standFor(o)
			}
		}
	}
	ds.set(withoutCovered(all))
}

// set sets the pending deletions. mu is held.
func (ds *deletions) set(all []*deletion) {
	slices.SortFunc(all, func(a, b *deletion) int { return cmp.Compare(a.Position, b.Position) })
	l := &deletionList{all: all, gone: goneSets(all)}
	ds.bytes = 0
	held := int64(0)
	for _, p := range all {
		ds.bytes += len(p.item().data)
		held += p.memory
	}
	ds.held.Store(held)
	ds.shareMatches(ds.all(), all)
	ds.list.Store(l)
}

// The item of a deletion has the uvarints
//
//	position  of the deletion's first record, 0 in that record itself
//	when      it was acknowledged, in seconds since the Unix epoch
//	From, To  To 0: no end
//	matchers  how many
//
// and for each matcher its operator (uvarint), its name and its value, each with its
// length before it (uvarint); then the tenant, with its length before it.
//
// An item of a deletion with Lines, or of one that is final, has another type, and behind
// the tenant the uvarint flags, 1 if it is final, and the conditions, see appendLines.
func (p *deletion) item() stateItem {
	var data []byte
	for _, v := range [...]uint64{p.Position, uint64(p.when), uint64(p.Deletion.From), uint64(p.Deletion.To), uint64(len(p.Selector))} {
		data = binary.AppendUvarint(data, v)
	}
	for _, m := range p.Selector {
		data = binary.AppendUvarint(data, uint64(m.Op))
		data = appendString(appendString(data, m.Name), m.Value)
	}
	data = appendString(data, p.Deletion.Tenant)
	final := p.final.Load()
	if len(p.Lines) == 0 && !final {
		return stateItem{stateDelete, data}
	}
	flags := uint64(0)
	if final {
		flags |= deletionFinal
	}
	return stateItem{stateDeleteLines, appendLines(binary.AppendUvarint(data, flags), p.Lines)}
}

const deletionFinal = 1 // a flag

// deletion decodes the item of a record at a position.
func (it stateItem) deletion(pos uint64) (*deletion, error) {
	r := recordReader{p: it.data}
	var v [5]uint64
	if err := r.numbers(v[:]); err != nil {
		return nil, err
	}
	p := &deletion{when: int64(v[1]), logged: pos}
	p.Deletion.From, p.Deletion.To = int64(v[2]), int64(v[3])
	for range v[4] {
		op, err := r.uvarint()
		if err != nil {
			return nil, err
		}
		var text [2]string
		for i := range text {
			b, err := r.bytes()
			if err != nil {
				return nil, err
			}
			text[i] = string(b)
		}
		p.Selector = append(p.Selector, Matcher{Name: text[0], Op: MatchOp(min(op, math.MaxUint8)), Value: text[1]})
	}
	tenant, err := r.bytes()
	if err == nil && it.typ == stateDeleteLines {
		err = r.deletionLines(p)
	}
	if err == nil && r.off < len(r.p) {
		err = r.bad("bytes behind a deletion")
	}
	if err != nil {
		return nil, err
	}
	p.Deletion.Tenant = string(tenant)
	if p.gone, err = p.Deletion.compile(); err != nil {
		return nil, fmt.Errorf("%w: a delete that this version cannot apply: %w", errRecord, err)
	}
	p.placed(cmp.Or(v[0], pos))
	p.logged = pos
	return p, nil
}

// deletionLines decodes what an item of type stateDeleteLines has behind the tenant.
func (r *recordReader) deletionLines(p *deletion) error {
	flags, err := r.uvarint()
	if err != nil {
		return err
	}
	if flags&^deletionFinal != 0 {
		return r.bad("a deletion with flags that this version does not know")
	}
	p.final.Store(flags&deletionFinal != 0)
	p.Lines, err = r.lineMatches()
	return err
}
