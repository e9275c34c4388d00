package logstore

import "unsafe"

// A MemoryShare is a part of Options.Memory. See Stats.Memory.
type MemoryShare struct {
	Name        string
	Used, Limit int64 // bytes
}

// A share is a part of Options.Memory. What takes the memory counts it, and bounds
// it as it can: appends wait, queries wait or give up their place, caches evict, a
// memtable is sealed earlier, a compaction takes fewer segments. The accountant says
// how much each may have, and collects what each has.
type share int

const (
	memtableShare share = iota
	resultShare
	decoderShare
	tailShare
	cacheShare
	sealShare
	compactionShare
	keyShare
	rejectionShare
	otherShare
	numShares
)

// wholeMemory is Options.Memory in parts, of which each share has some.
const wholeMemory = 192

// shares has the names of the shares and their parts.
var shares = [numShares]struct {
	name  string
	parts int64
}{
	memtableShare:   {"memtables and their streams", 72},
	resultShare:     {"results and sums of queries", 32},
	decoderShare:    {"decoders of queries", 12},
	tailShare:       {"buffers of tails", 4},
	cacheShare:      {"caches of segments", 24},
	sealShare:       {"sealing", 18},
	compactionShare: {"compaction", 14},
	keyShare:        {"keys and sources of batches", 6},
	rejectionShare:  {"rejected entries", 3},
	otherShare:      {"the log, and others", 7},
}

// of returns how many bytes of memory the share has. The last one has what rounding
// leaves, so that they add up to all of it.
func (k share) of(memory int64) int64 {
	if k == numShares-1 {
		left := memory
		for other := range k {
			left -= other.of(memory)
		}
		return left
	}
	whole, rest := memory/wholeMemory, memory%wholeMemory
	return whole*shares[k].parts + rest*shares[k].parts/wholeMemory
}

// share returns how many bytes a share has.
func (o *Options) share(k share) int64 { return k.of(o.Memory) }

// memory returns what each share has.
func (s *Store) memory() []MemoryShare {
	segments := s.catalog.Stats()
	used := [numShares]int64{
		memtableShare:   s.throttle.used.Load() + s.pool.kept(),
		resultShare:     s.o.share(resultShare) - s.reads.memory.Free(),
		decoderShare:    s.reads.readingUsed.Load(),
		tailShare:       s.reads.tails.used(),
		cacheShare:      segments.CacheBytes + segments.CardBytes + segments.TableBytes + s.names.memory(),
		sealShare:       s.seals.memory.Load() + s.miner.memory(),
		compactionShare: segments.CompactionMemory,
		keyShare:        s.idempotency.memory(),
		rejectionShare:  s.rejectedBytes.Load(),
		otherShare:      logBytes + s.census.memory() + s.tenants.memory() + s.events.memory() + s.deletions.memory(),
	}
	list := make([]MemoryShare, numShares)
	for k := range numShares {
		list[k] = MemoryShare{shares[k].name, used[k], s.o.share(k)}
	}
	return list
}

// logBytes is about the memory of the log, which is mostly what it writes at once.
const logBytes = 1 << 20

func (d *idempotency) memory() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &d.keys
	return int64(len(t.chunks))*keyChunkBytes + int64(len(t.index))*keySlotBytes + d.sourceBytes + d.tenants.bytes
}

// memory returns that of the censuses: of all tenants, and of the streams of those that
// have a limit.
func (t *tenantTable) memory() int64 {
	n := t.census.memory()
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, in := range t.byName {
		if c := in.census.Load(); c != nil {
			n += c.memory()
		}
	}
	if c := t.unnamed.census.Load(); c != nil {
		n += c.memory()
	}
	return n
}

func (c *census) memory() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(len(c.current.exact.slots)+len(c.before.exact.slots)) * 8
	for _, k := range [...]*sketch{c.current.sketch, c.before.sketch, c.both} {
		if k != nil {
			n += int64(unsafe.Sizeof(*k))
		}
	}
	return n
}

func (q *eventQueue) memory() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	const texts = 200 // about the bytes of an event's path and reason
	return int64(cap(q.list)+cap(q.report.Events)) * (int64(unsafe.Sizeof(Event{})) + texts)
}
