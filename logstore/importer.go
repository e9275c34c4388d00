package logstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/mkdir"
)

const (
	importsDir   = "imports" // in the directory of the store
	importSchema = "stele.imports/1"

	// An import appends batches of as many bytes and entries, so that each is one
	// record of the log.
	importBytes   = 2 << 20
	importEntries = 1 << 14
	importDamage  = 100 // see ImportResult.Damage
)

// An importState is how far a source is imported, in the order in which a query
// yields its entries, for each tenant by itself: DIR/imports/ID.json for the tenant
// "", and with a hash of its name behind ID for another one.
type importState struct {
	Schema  string `json:"schema"`
	Source  string `json:"source"` // where it was last
	Tenant  string `json:"tenant,omitempty"`
	Entries uint64 `json:"entries"`
	// Batches is the source of its batches, see AppendOptions: random, so that a file
	// that was removed means another import. The offset of an entry is its number,
	// from 1.
	Batches string `json:"batches"`
	// Of the last one: its time in nanoseconds, how many of the entries are of
	// that time, and its checksum.
	Time   int64  `json:"time"`
	AtTime int64  `json:"at_time"`
	Sum    uint64 `json:"sum"`
}

// An importer imports the entries of one tenant of a source.
type importer struct {
	to     *Store
	source importSource
	tenant string
	report func(ImportProgress)
	result *ImportResult // of all tenants

	saved importState // durable: entries up to there are in the store
	state importState // with the batch
	// there is how many entries the store has, as its records say: a crash may have
	// come before saved was written.
	there uint64

	batch   Batch
	streams map[Labels]int // indexes into batch
	entries int            // of batch
	bytes   int            // of their lines, metadata and labels
	lines   []byte         // copies
}

// name names the entries that are imported.
func (m *importer) name() string {
	if m.tenant == "" {
		return m.source.id
	}
	sum := sha256.Sum256([]byte(m.tenant))
	return m.source.id + "-" + hex.EncodeToString(sum[:16])
}

func (m *importer) file() string {
	return filepath.Join(m.to.dir, importsDir, m.name()+".json")
}

// load reads how far the source is imported, or writes that nothing is yet.
func (m *importer) load() error {
	p, err := os.ReadFile(m.file())
	if errors.Is(err, fs.ErrNotExist) {
		var random [16]byte
		rand.Read(random[:])
		m.state = importState{
			Schema: importSchema, Source: m.source.path, Tenant: m.tenant,
			Batches: "import:" + hex.EncodeToString(random[:]),
		}
		return m.save()
	}
	if err == nil {
		err = json.Unmarshal(p, &m.state)
	}
	switch {
	case err != nil:
	case m.state.Schema != importSchema:
		err = fmt.Errorf("its schema is %q; want %q", m.state.Schema, importSchema)
	case m.state.Tenant != m.tenant:
		err = fmt.Errorf("its tenant is %q; want %q", m.state.Tenant, m.tenant)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.file(), err)
	}
	m.saved = m.state
	m.state.Source = m.source.path
	m.result.Known += int64(m.state.Entries)
	m.there = m.to.idempotency.offsetOf(m.tenant, m.state.Batches)
	return nil
}

// save notes durably how far the source is imported.
func (m *importer) save() error {
	if m.state == m.saved {
		return nil
	}
	p, err := json.Marshal(m.state)
	if err == nil {
		err = atomicfile.WriteFile(m.file(), append(p, '\n'), 0o644)
	}
	if err == nil {
		m.saved = m.state
	}
	return err
}

// makeImports makes the directory of the states of imports.
func (s *Store) makeImports() error {
	d, err := mkdir.OpenRoot(s.dir, mkdir.Options{})
	if err != nil {
		return err
	}
	return errors.Join(d.All(importsDir, 0o755), d.Close())
}

// run imports the entries behind those that are known.
func (m *importer) run(ctx context.Context, from *Store) error {
	skip := m.saved.AtTime
	for r, err := range from.Query(ctx, Query{Tenant: m.tenant, From: m.saved.Time}) {
		if err != nil {
			if err := m.damage(err); err != nil {
				return err
			}
			continue
		}
		if skip > 0 {
			if skip--; r.Time != m.saved.Time || skip == 0 && sumOf(&r) != m.saved.Sum {
				return m.errChanged()
			}
			continue
		}
		if err := m.add(ctx, &r); err != nil {
			return err
		}
	}
	if skip > 0 || m.state.Entries < m.there {
		return m.errChanged()
	}
	return m.flush(ctx)
}

func (m *importer) errChanged() error {
	return fmt.Errorf("the source has changed since %d entries of it were imported; remove %s to import all of it, again", m.saved.Entries, m.file())
}

// damage notes what cannot be read of the source. It returns other errors.
func (m *importer) damage(err error) error {
	if !isSegmentDamage(err) && !errors.Is(err, ErrIncomplete) {
		return err
	}
	if errors.Is(err, ErrIncomplete) && m.tenant != "" {
		return nil // each query says so
	}
	m.result.Damaged++
	if len(m.result.Damage) < importDamage {
		m.result.Damage = append(m.result.Damage, err)
	}
	return nil
}

// add adds an entry to the batch.
func (m *importer) add(ctx context.Context, r *Result) error {
	if m.state.Entries < m.there {
		m.pass(r)
		m.result.Known++
		return nil
	}
	size := len(r.Line) + len(r.Metadata.enc) + len(r.Labels.enc)
	if m.entries > 0 && (m.entries == importEntries || m.bytes+size > m.batchBytes()) {
		if err := m.flush(ctx); err != nil {
			return err
		}
	}
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
	m.pass(r)
	return nil
}

// batchBytes bounds the batches, so that each is one record.
func (m *importer) batchBytes() int { return min(importBytes, m.to.recordSize/2) }

// pass goes on behind an entry.
func (m *importer) pass(r *Result) {
	if m.state.AtTime > 0 && m.state.Time != r.Time {
		m.state.AtTime = 0
	}
	m.state.Entries++
	m.state.Time, m.state.Sum = r.Time, sumOf(r)
	m.state.AtTime++
}

// flush appends the batch, and then notes durably that it is there. The store knows it
// by its source: after a crash between the two, the next import passes its entries.
func (m *importer) flush(ctx context.Context) error {
	if m.entries > 0 {
		if err := m.append(ctx); err != nil {
			return err
		}
	}
	before := m.saved.Entries
	if err := m.save(); err != nil || m.saved.Entries == before {
		return err
	}
	m.report(ImportProgress{m.source.path, int64(m.saved.Entries)})
	return nil
}

// append appends the batch.
func (m *importer) append(ctx context.Context) error {
	o := AppendOptions{Tenant: m.tenant, Source: m.state.Batches, ofImport: true, Offset: m.state.Entries - uint64(m.entries) + 1}
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
