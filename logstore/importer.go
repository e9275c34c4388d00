package logstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/atomicfile"
)

const (
	// An import appends batches of as many bytes and entries, so that each is one
	// record of the log.
	importBytes   = 2 << 20
	importEntries = 1 << 14
	importDamage  = 100 // see ImportResult.Damage
)

// An importer imports the entries of one tenant that have positions of one log.
type importer struct {
	to     *Store
	from   *importReader
	id     string // of the log
	tenant string
	memory int64
	report func(entries int64) // of the tenant and the log, that are in the store
	result *ImportResult

	state importState
	saved []byte    // the state, as it was last saved
	last  Cursor    // the last entry of the unit that was looked at
	seen  *seenList // of a damaged unit, or nil

	batch   Batch
	streams map[Labels]int // indexes into batch
	entries int            // of batch
	bytes   int            // of their lines, metadata and labels
	lines   []byte         // copies
}

func (m *importer) name() string { return importName(m.id, m.tenant) }
func (m *importer) dir() string  { return filepath.Join(m.to.dir, importsDir) }
func (m *importer) file() string { return filepath.Join(m.dir(), m.name()+importSuffix) }

// load reads what is imported.
func (m *importer) load() (err error) {
	var there bool
	if m.state, there, err = loadImport(m.file(), m.tenant); err != nil {
		return err
	}
	if there {
		if m.saved, err = json.Marshal(&m.state); err != nil {
			return err
		}
	}
	if err := m.state.settle(m.to.idempotency.offsetOf(m.tenant, m.state.Batches)); err != nil {
		return fmt.Errorf("%s: %w", m.file(), err)
	}
	if m.state.Source == "" {
		m.state.Source = m.from.source.path
	}
	return nil
}

// run imports the entries at positions that are not imported yet, and those of parts of
// which some may not be.
func (m *importer) run(ctx context.Context, ranges []importRange) error {
	var all []PositionRange
	for _, r := range ranges {
		all = append(all, r.PositionRange)
	}
	has := union(all)
	for _, p := range m.state.partsOf(has) {
		m.state.Parts = slices.DeleteFunc(m.state.Parts, func(o importPart) bool { return o.First == p.First })
		p.Damaged = p.Damaged || slices.ContainsFunc(ranges, func(r importRange) bool { return r.damaged && r.meets(p.positions()) })
		if err := m.part(ctx, p, has.has(p.positions())); err != nil {
			return err
		}
	}
	for _, r := range ranges {
		for _, left := range m.state.known().without(r.PositionRange) {
			p := importPart{First: left.First, Last: left.Last, Damaged: r.damaged || r.lacking}
			if r.lacking {
				var err error
				if p.Seen, err = m.held(ctx, left); err != nil {
					return err
				}
			}
			if err := m.part(ctx, p, true); err != nil {
				return err
			}
		}
	}
	if err := m.save(); err != nil {
		return err
	}
	return removeSeen(m.dir(), m.name(), &m.state)
}

// part imports the entries of a part that are not imported yet. covered means that the
// source has all of its positions.
func (m *importer) part(ctx context.Context, p importPart, covered bool) (err error) {
	p.Damaged = p.Damaged || !covered
	m.state.Unit, m.last = &p, Cursor{}
	q := Query{Tenant: m.tenant, Cursors: true, positions: positionRange{p.First, p.Last + 1}}
	if p.Whole != nil {
		q.After = *p.Whole
		m.last = *p.Whole
	}
	if p.Damaged {
		if err := m.openSeen(); err != nil {
			return err
		}
	}
	defer func() {
		if m.seen != nil {
			err = errors.Join(err, m.seen.close())
			m.seen = nil
		}
	}()
	for r, err := range m.from.store.Query(ctx, q) {
		if err != nil {
			err = m.damage(ctx, err)
		} else {
			err = m.pass(ctx, &r)
		}
		if err != nil {
			return err
		}
	}
	if m.seen != nil {
		if err := m.seen.end(); err != nil {
			return err
		}
	}
	if err := m.flush(ctx); err != nil {
		return err
	}
	if m.seen != nil {
		if m.state.Unit.Seen, err = m.seen.parts(); err != nil {
			return err
		}
	}
	m.state.finish(covered)
	return nil
}

// held makes a list of the entries that the store has at positions of its own log.
func (m *importer) held(ctx context.Context, r PositionRange) ([]seenPart, error) {
	l, err := openSeen(m.dir(), m.name(), nil, 0)
	if err != nil {
		return nil, err
	}
	for e, err := range m.to.Query(ctx, Query{Tenant: m.tenant, positions: positionRange{r.First, r.Last + 1}}) {
		if err == nil {
			err = l.add(seenEntry{e.Time, sumOf(&e)})
		}
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	parts, err := l.parts()
	return parts, errors.Join(err, l.close())
}

// openSeen begins the list of what is imported of the unit, which is damaged.
func (m *importer) openSeen() (err error) {
	m.seen, err = openSeen(m.dir(), m.name(), m.state.Unit.Seen, int(m.memory/8/64))
	return err
}

// damage notes what cannot be read of the source. It returns other errors.
func (m *importer) damage(ctx context.Context, err error) error {
	if errors.Is(err, ErrIncomplete) {
		return nil // the reader tells
	}
	if !isSegmentDamage(err) {
		return err
	}
	m.result.damaged(err)
	if m.state.Unit.Damaged {
		return nil
	}
	// No entry behind the damage came yet.
	if err := m.flush(ctx); err != nil {
		return err
	}
	m.state.Unit.Damaged = true
	return m.openSeen()
}

// damaged adds a place that cannot be read.
func (r *ImportResult) damaged(err error) {
	r.Damaged++
	if len(r.Damage) < importDamage {
		r.Damage = append(r.Damage, err)
	}
}

// pass adds an entry to the batch, unless it is imported.
func (m *importer) pass(ctx context.Context, r *Result) error {
	size := len(r.Line) + len(r.Metadata.enc) + len(r.Labels.enc)
	if m.entries > 0 && (m.entries == importEntries || m.bytes+size > m.batchBytes()) {
		if err := m.flush(ctx); err != nil { // before the list has the entry
			return err
		}
	}
	if m.seen != nil {
		known, err := m.seen.has(seenEntry{r.Time, sumOf(r)})
		if err != nil || known {
			return err
		}
	}
	m.add(r, size)
	m.last = r.Cursor()
	return nil
}

// add adds an entry to the batch.
func (m *importer) add(r *Result, size int) {
	if m.entries == 0 {
		m.streams, m.lines = map[Labels]int{}, make([]byte, 0, importBytes)
	}
	i, ok := m.streams[r.Labels]
	if !ok {
		i = len(m.batch)
		m.streams[r.Labels] = i
		m.batch = append(m.batch, Stream{Labels: r.Labels})
	}
	at := len(m.lines)
	m.lines = append(m.lines, r.Line...)
	e := Entry{Time: r.Time, Line: m.lines[at:len(m.lines):len(m.lines)], Metadata: r.Metadata}
	m.batch[i].Entries = append(m.batch[i].Entries, e)
	m.entries++
	m.bytes += size
}

// batchBytes bounds the batches, so that each is one record.
func (m *importer) batchBytes() int { return min(importBytes, m.to.recordSize/2) }

// flush notes durably where the import is once the batch is there, and appends it.
func (m *importer) flush(ctx context.Context) error {
	if m.entries == 0 {
		return nil
	}
	unit := *m.state.Unit
	next := &importPlace{Entries: m.state.Entries + uint64(m.entries), Unit: &unit}
	if !unit.Damaged {
		last := m.last
		unit.Whole = &last
	} else {
		seen, err := m.seen.parts()
		if err != nil {
			return err
		}
		unit.Seen = seen
	}
	m.state.Next = next
	if err := m.save(); err != nil {
		return err
	}
	if err := m.append(ctx); err != nil {
		return err
	}
	m.state.importPlace, m.state.Next = *next, nil
	m.report(int64(m.state.Entries))
	return nil
}

// append appends the batch.
func (m *importer) append(ctx context.Context) error {
	o := AppendOptions{Tenant: m.tenant, Source: m.state.Batches, ofImport: true, Offset: m.state.Entries + 1}
	a, err := m.to.AppendWith(ctx, m.batch, o)
	if refused, ok := errors.AsType[*RejectedError](err); ok {
		m.result.Refused += int64(len(refused.Rejected) + refused.More)
		err = nil
	}
	if err != nil {
		return err
	}
	m.result.Kept += int64(a.Kept)
	m.result.Known += int64(a.Known)
	m.batch, m.entries, m.bytes = m.batch[:0], 0, 0
	return nil
}

// save writes the state durably, unless it is saved.
func (m *importer) save() error {
	p, err := json.Marshal(&m.state)
	if err != nil || bytes.Equal(p, m.saved) {
		return err
	}
	m.saved = p
	return atomicfile.WriteFile(m.file(), append(slices.Clone(p), '\n'), 0o644)
}

var importTable = crc64.MakeTable(crc64.ECMA)

// sumOf returns a checksum of an entry.
func sumOf(r *Result) uint64 {
	sum := uint64(0)
	for _, part := range []string{r.Labels.enc, string(r.Line), r.Metadata.enc} {
		sum = crc64.Update(sum, importTable, binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		sum = crc64.Update(sum, importTable, []byte(part))
	}
	return sum
}
