package logstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

// AppendOptions say whose a batch is, and name it, so that a retry of it keeps nothing
// twice: by a key, by a source, or by both. Then an entry is known by either. The zero
// value is what Append takes.
type AppendOptions struct {
	// Tenant is whose the entries are: a name of at most 128 bytes of UTF-8. Its
	// streams are its own: the same labels of another tenant are another stream, and a
	// query finds the entries of one tenant only. "" is the tenant of Append. Keys
	// and sources are those of the tenant.
	Tenant string
	// Key names the batch: random bytes, for example a UUID, that the caller
	// uses again for each retry of the same batch and for no other. Zero is no
	// key. It is remembered for Options.KeyWindow, ten minutes by default.
	Key [16]byte
	// Source names where the entries come from, in at most 256 bytes: a file of
	// a machine, or a partition of a queue. "" is no source, and names that begin
	// with "import:" are those of Import, which others may not use. Entry i of the
	// batch has Offset+i there, or Offsets[i] if Offsets, which must grow, is
	// set. Entries are counted through the streams of the batch. An entry whose
	// offset is not higher than that of the newest one of the source is known,
	// however long ago that was; so the batches of a source are appended one
	// after the other. A store remembers 65,536 sources, or less if Options.Memory is
	// less than 450 MiB: see ErrTooManySources.
	Source  string
	Offset  uint64
	Offsets []uint64

	ofImport bool // Import is the caller
}

// importPrefix begins the names of the sources of Import.
const importPrefix = "import:"

// Appended is what became of a batch.
type Appended struct {
	Kept  int    // entries kept by this call
	Known int    // entries that an earlier call has kept, or refused
	Last  uint64 // position of the last record that tells of the batch, 0 if it has none
}

func (o *AppendOptions) hasKey() bool { return o.Key != [16]byte{} }

// isSet reports whether the batch has names, or options that would need some.
func (o *AppendOptions) isSet() bool {
	return o.hasKey() || o.Source != "" || o.Offset != 0 || o.Offsets != nil
}

func (o *AppendOptions) check(entries int) error {
	const pkg = "logstore: AppendOptions."
	switch {
	case len(o.Source) > maxSource:
		return setting.Wrong(pkg+"Source", setting.Bytes(len(o.Source)), "at most %d", maxSource)
	case strings.HasPrefix(o.Source, importPrefix) && !o.ofImport:
		return setting.Wrong(pkg+"Source", o.Source, "a name that does not begin with %q, as those of Import do", importPrefix)
	case o.Source == "" && o.Offset != 0:
		return setting.Wrong(pkg+"Offset", o.Offset, "0 without a Source")
	case o.Source == "" && o.Offsets != nil:
		return setting.Wrong(pkg+"Offsets", len(o.Offsets), "none without a Source")
	case o.Offsets == nil && entries > 0 && o.Offset > math.MaxUint64-uint64(entries-1):
		return setting.Wrong(pkg+"Offset", o.Offset, "less, as the batch has %d entries", entries)
	case o.Offsets == nil:
		return nil
	case o.Offset != 0:
		return setting.Wrong(pkg+"Offset", o.Offset, "0 with Offsets")
	case len(o.Offsets) != entries:
		return setting.Wrong(pkg+"Offsets", len(o.Offsets), "one for each of %d entries", entries)
	}
	for i := 1; i < len(o.Offsets); i++ {
		if o.Offsets[i] <= o.Offsets[i-1] {
			return setting.Wrong(pkg+"Offsets", o.Offsets[i], "more than %d, the one before", o.Offsets[i-1])
		}
	}
	return nil
}

// offsetOf returns the offset of an entry.
func (o *AppendOptions) offsetOf(entry int) uint64 {
	if o.Offsets != nil {
		return o.Offsets[entry]
	}
	return o.Offset + uint64(entry)
}

// upTo returns how many of so many entries have at most this offset.
func (o *AppendOptions) upTo(offset uint64, entries int) int {
	if o.Offsets != nil {
		n, found := slices.BinarySearch(o.Offsets, offset)
		if found {
			n++
		}
		return n
	}
	if entries == 0 || offset < o.Offset {
		return 0
	}
	return int(min(offset-o.Offset, uint64(entries-1)) + 1)
}

// AppendWith is Append of a tenant's batch, or of one that has names, so that the caller
// may repeat it until it succeeds: each entry is kept once. What an earlier call has kept, or
// refused, is not looked at again (Appended.Known); the rest is appended. A batch that
// is known whole is acknowledged again. A call with the names of one that is under way
// waits for that.
//
// So after an error, one that wraps ErrUnsure among them, a retry with the same names
// and the same entries in the same order keeps exactly what is missing. That holds
// after a crash too: what is known of a batch is in the records with its entries, and
// later in the segment with these, and is as durable as they are. Seals, compactions
// and Close change nothing of it. It is lost with the entries: a damaged segment that is
// salvaged loses names only if the damage is in these, as EventDamage and the report in
// quarantine tell. Retention and Delete take no names with the entries.
//
// A batch all of whose entries are refused is not remembered. The result is right with
// an error, too. Errors: those of Append; ErrTooManySources; ErrTooManyTenants; and wrong AppendOptions,
// for which errors.Is(err, fs.ErrInvalid) holds.
//
// Do not use a key for another batch, and do not append batches of one source out of
// order: their entries would count as known.
func (s *Store) AppendWith(ctx context.Context, b Batch, o AppendOptions) (a Appended, err error) {
	s.closeMu.RLock()
	defer s.closeMu.RUnlock()
	if err := s.checkAppend(ctx); err != nil {
		return a, s.opError("append to", err)
	}
	began := time.Now()
	s.noteAppend(began)
	timer := s.counts.appends.StartAt(began)
	now := s.o.nowAt(began)
	var turn batchTurn
	if o.Tenant != "" {
		if err := checkTenant("logstore: AppendOptions.Tenant", o.Tenant); err != nil {
			return a, err
		}
	}
	if o.isSet() {
		if err := o.check(b.entries()); err != nil {
			return a, s.opError("append to", err)
		}
	}
	w := appendStates.Get().(*appendState)
	defer w.release(s)
	w.now, w.names = now, o
	if w.limits, err = s.tenantOptions(o.Tenant); err == nil {
		w.tenant, err = s.enterTenant(o.Tenant, halfOf(s.reading(now).elapsed))
	}
	if err != nil {
		return a, s.opError("append to", err)
	}
	defer w.tenant.leave()
	w.tenant.limit(w.limits.MaxStreams)
	if o.isSet() {
		if turn, err = s.idempotency.begin(ctx, s.closed, &o, b.entries(), w.limits.MaxSources, s.reading(now).elapsed); err != nil {
			return a, s.opError("append to", err)
		}
		defer turn.end()
		a.Known, a.Last = turn.known, turn.last
	}
	if err := s.appendRest(ctx, w, b, &turn, &a); err != nil {
		return a, s.opError("append to", err)
	}
	if a.Kept > 0 {
		timer.Stop()
	}
	s.counts.rejected.Add(uint64(w.rejected.len()))
	return a, w.rejected.err(a.Kept)
}

// appendRest appends the entries that are not known.
func (s *Store) appendRest(ctx context.Context, w *appendState, b Batch, turn *batchTurn, a *Appended) error {
	rest, cut, first := b.after(turn.known)
	clock := s.reading(w.now)
	w.head = recordHead{version: byte(cmp.Or(s.o.recordVersion, recordVersion)), accepted: clock.accepted, tenant: w.names.Tenant, key: w.names.Key, source: w.names.Source}
	w.begin, w.before, w.half = turn.known, turn.known, halfOf(clock.elapsed)
	w.validate(ctx, s, rest)
	if len(w.records) > 0 {
		if err := s.beginTerm(); err != nil {
			return err
		}
	}
	for _, p := range w.records {
		pos, err := s.appendRecord(ctx, w, rest, p, a.Kept)
		if err != nil {
			if a.Kept > 0 {
				err = unsure(err)
			}
			return err
		}
		a.Kept, a.Last = a.Kept+p.rows, pos
	}
	for i := range w.rejected.list {
		if r := &w.rejected.list[i]; r.Stream == cut {
			r.Entry += first
		}
	}
	return nil
}

// entries returns how many entries the batch has.
func (b Batch) entries() (n int) {
	for i := range b {
		n += len(b[i].Entries)
	}
	return n
}

// after returns the batch without its first n entries. All streams are there,
// some without entries; the one at cut begins with its entry first.
func (b Batch) after(n int) (rest Batch, cut, first int) {
	if n == 0 {
		return b, 0, 0
	}
	rest = slices.Clone(b)
	for i := range rest {
		cut, first = i, min(n, len(b[i].Entries))
		rest[i].Entries = b[i].Entries[first:]
		if n -= first; n == 0 {
			break
		}
	}
	return rest, cut, first
}
