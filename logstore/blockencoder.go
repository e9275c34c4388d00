package logstore

import (
	"context"
	"runtime"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment"
)

// A blockEncoder encodes blocks, one after the other. Store.encoders pools
// them, as their memory is a few MiB.
type blockEncoder struct {
	enc        block.Encoder
	filt       filter.Builder
	prefetched byte // a sum of the prefetched bytes, so that they are read
}

// An encodedBlock is the output of a blockEncoder.
type encodedBlock struct {
	block, filter []byte
	runs          []segment.StreamRun
	bytes         int64 // of the memtable
	err           error
}

// prefetchRows is how many rows are brought into the CPU's cache at once.
const prefetchRows = 32

// encode encodes a block of runs of m into b.
func (k *blockEncoder) encode(m *memtable, runs []rowRun, b *encodedBlock) {
	k.enc.Reset()
	k.filt.Reset()
	b.runs, b.bytes = b.runs[:0], 0
	for _, r := range runs {
		first, raw := k.enc.Rows(), k.enc.Raw()
		for i, row := range r.rows {
			if i%prefetchRows == 0 {
				// Appends that wait for a processor come first: a block takes
				// milliseconds.
				runtime.Gosched()
				k.prefetched += m.prefetch(r.rows[i:min(i+prefetchRows, len(r.rows))])
			}
			line, meta := m.line(row), m.meta(row)
			k.enc.Add(row.time, line, meta)
			k.filt.Add(line)
			if len(meta) > 0 {
				for _, v := range (Labels{string(meta)}).All() {
					k.filt.Add([]byte(v))
				}
			}
		}
		b.runs = append(b.runs, segment.StreamRun{Labels: r.labels, Run: segment.Run{
			First: first, Rows: len(r.rows),
			MinTime: r.rows[0].time, MaxTime: r.rows[len(r.rows)-1].time,
			Raw: int64(k.enc.Raw() - raw),
		}})
		b.bytes += int64(k.enc.Raw()-raw) + int64(len(r.rows))*memRowSize
	}
	runtime.Gosched()
	b.block, b.err = k.enc.Append(b.block[:0])
	runtime.Gosched()
	b.filter = k.filt.Append(b.filter[:0])
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

// run encodes each step-th block of m from first on, until ctx is done.
func (w blockWorker) run(ctx context.Context, k *blockEncoder, m *memtable, blocks [][]rowRun, first, step int) {
	defer close(w.encoded)
	for j := first; j < len(blocks); j += step {
		var b *encodedBlock
		select {
		case b = <-w.free:
		case <-ctx.Done():
			return
		}
		k.encode(m, blocks[j], b)
		w.encoded <- b
		// Appends that wait for a processor come first.
		runtime.Gosched()
	}
}

// writeBlocks writes all of m, which is immutable. Several goroutines encode;
// the blocks are written in order.
func (s *Store) writeBlocks(ctx context.Context, w *segment.Writer, m *memtable) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	blocks := splitBlocks(m, func(n uint32) string {
		enc, _ := s.labels.Labels(n)
		return enc
	})
	n := s.o.Workers
	if s.throttle.hasHeadroom() {
		n = s.maxWorkers()
	}
	workers := make([]blockWorker, min(n, len(blocks)))
	for i := range workers {
		workers[i] = newBlockWorker()
		k := s.encoders.Get().(*blockEncoder)
		go func() {
			defer s.encoders.Put(k)
			workers[i].run(ctx, k, m, blocks, i, len(workers))
		}()
	}
	defer func() {
		// No worker may read m once this returns.
		cancel()
		for _, k := range workers {
			for range k.encoded {
			}
		}
	}()
	var done int64
	for j := range blocks {
		k := workers[j%len(workers)]
		b, ok := <-k.encoded
		if !ok {
			return context.Cause(ctx)
		}
		if b.err != nil {
			return b.err
		}
		if err := w.AddBlock(b.block, b.filter, b.runs); err != nil {
			return err
		}
		done += b.bytes
		s.throttle.sealProgress(done)
		k.free <- b
	}
	return nil
}
