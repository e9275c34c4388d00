package logstore

import (
	"context"
	"slices"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A blockEncoder encodes blocks, one after the other. Store.encoders pools
// them, as their memory is a few MiB.
type blockEncoder struct {
	enc        segment2.BlockEncoder
	prefetched byte // a sum of the prefetched bytes, so that they are read
	turn       turn
}

// An encodedBlock is the output of a blockEncoder.
type encodedBlock struct {
	segment2.EncodedBlock
	filter []byte
	bytes  int64 // of the memtable
	weight int64 // of the encoder and two such blocks, behind this one
	err    error
}

// prefetchRows is how many rows are brought into the CPU's cache at once.
const prefetchRows = 32

// encode encodes a block of the plan into b.
func (k *blockEncoder) encode(p *sealPlan, planned plannedBlock, b *encodedBlock) {
	k.enc.Reset(true)
	b.Runs, b.IDs, b.bytes = b.Runs[:0], b.IDs[:0], 0
	for r := range p.runs(planned) {
		raw := int64(0)
		for i, row := range r.rows {
			if i%prefetchRows == 0 {
				k.turn.pass()
				k.prefetched += p.mem.prefetch(r.rows[i:min(i+prefetchRows, len(r.rows))])
			}
			line, meta := p.mem.line(row), p.mem.meta(row)
			k.enc.Add(row.time, line, meta)
			raw += int64(len(line) + len(meta))
			b.IDs = append(b.IDs, segment2.ID{Position: p.mem.base + uint64(row.pos), Place: uint32(row.place)})
		}
		b.Runs = append(b.Runs, segment2.Run{
			Ordinal: r.ordinal, Seq: r.seq, Rows: uint32(len(r.rows)),
			MinTime: r.rows[0].time, MaxTime: r.rows[len(r.rows)-1].time, Raw: raw,
		})
		b.bytes += raw + int64(len(r.rows))*memRowSize
	}
	k.turn.pass()
	b.err = k.enc.Encode(&b.EncodedBlock)
	k.turn.pass()
	b.filter = k.enc.Filter(b.filter[:0])
	b.weight = k.enc.Weight() + 2*int64(cap(b.Block)+cap(b.filter)+cap(b.IDs)*int(unsafe.Sizeof(segment2.ID{})))
}

// A blockWorker encodes blocks ahead of the writer.
type blockWorker struct {
	encoded chan *encodedBlock // closed once there are no more
	free    chan *encodedBlock // memory for the next blocks
}

// newBlockWorker returns a worker with memory for two blocks, so that it is one
// block ahead of the writer.
func newBlockWorker() blockWorker {
	w := blockWorker{make(chan *encodedBlock, 2), make(chan *encodedBlock, 2)}
	w.free <- new(encodedBlock)
	w.free <- new(encodedBlock)
	return w
}

// run encodes each step-th block of the plan from first on, until ctx is done.
func (w blockWorker) run(ctx context.Context, k *blockEncoder, p *sealPlan, first, step int) {
	defer close(w.encoded)
	for j := first; j < len(p.blocks); j += step {
		var b *encodedBlock
		select {
		case b = <-w.free:
		case <-ctx.Done():
			return
		}
		k.encode(p, p.blocks[j], b)
		w.encoded <- b
		k.turn.pass()
	}
}

// writeSegment writes all of m, which is immutable.
func (s *Store) writeSegment(ctx context.Context, w *segment2.Writer, m *memtable) error {
	p := planSeal(m, s.o.Codec.blockRaw())
	encoders, each := int64(s.sealWorkers(len(p.blocks))), s.o.Codec.encoderBytes()
	own := p.memory() + encoders*each
	defer s.seals.memory.Store(0)
	w.LimitPostings(s.o.share(sealShare) / postingsPart)
	for first, end := range p.tenants() {
		if err := w.AddStreams(p.streams[first].of.tenant.name, p.labels(first, end)); err != nil {
			return err
		}
		s.seals.memory.Store(own + w.Memory())
	}
	// Filters lie behind all blocks: they are a fiftieth of the lines, or up to a
	// fifth if these are random words.
	filters, kept := make([][]byte, 0, len(p.blocks)), int64(0)
	err := s.eachBlock(ctx, p, func(b *encodedBlock) error {
		// Lines of many short variables take more than those of most logs.
		if more := b.weight - each; more > 0 {
			each, own = each+more, own+encoders*more
		}
		filters = append(filters, slices.Clone(b.filter))
		kept += int64(len(b.filter)) + sliceBytes
		s.seals.memory.Store(own + kept + w.Memory())
		return w.AddBlock(b.EncodedBlock)
	})
	for _, f := range filters {
		if err == nil {
			err = w.AddFilter(f)
		}
	}
	return err
}

const (
	// postingsPart is which part of what is for sealing postings may take, and
	// filtersPart which one filters take at most.
	postingsPart, filtersPart = 4, 5 // a quarter, two fifths
	sliceBytes                = 24
)

// sealWorkers returns how many workers encode so many blocks: as many as there is
// memory for beside filters and postings, but two at least.
func (s *Store) sealWorkers(blocks int) int {
	memory := s.o.share(sealShare)
	left := memory - memory/postingsPart - 2*memory/filtersPart
	return min(s.o.Workers, blocks, max(2, int(left/s.o.Codec.encoderBytes())))
}

// eachBlock calls write for the blocks of the plan, in order. Several goroutines
// encode.
func (s *Store) eachBlock(ctx context.Context, p *sealPlan, write func(*encodedBlock) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := s.sealWorkers(len(p.blocks))
	if s.throttle.hasHeadroom() {
		n = min(n, s.maxSealers())
	}
	workers := make([]blockWorker, n)
	for i := range workers {
		workers[i] = newBlockWorker()
		k := s.encoders.Get().(*blockEncoder)
		go func() {
			defer s.encoders.Put(k)
			workers[i].run(ctx, k, p, i, len(workers))
		}()
	}
	defer func() {
		// No worker may read the memtable once this returns.
		cancel()
		for _, k := range workers {
			for range k.encoded {
			}
		}
	}()
	var done int64
	for j := range p.blocks {
		k := workers[j%len(workers)]
		b, ok := <-k.encoded
		if !ok {
			return context.Cause(ctx)
		}
		if b.err != nil {
			return b.err
		}
		if err := write(b); err != nil {
			return err
		}
		done += b.bytes
		s.throttle.sealProgress(done)
		k.free <- b
	}
	return nil
}
