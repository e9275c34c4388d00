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
	prefetched byte // of nothing: so that bytes are read for it
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

// writeBlocks writes all of m, which is immutable. Several goroutines encode;
// the blocks are written in order.
func (s *Store) writeBlocks(ctx context.Context, w *segment.Writer, m *memtable) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	blocks := splitBlocks(m, func(n uint32) string {
		enc, _ := s.labels.Labels(n)
		return enc
	})
	workers := min(s.o.Workers, len(blocks))
	if s.throttle.hasHeadroom() {
		workers = min(s.maxWorkers(), len(blocks))
	}
	// Each worker makes every workers-th block, into one of two places, so that
	// it is one block ahead of the writer.
	made := make([]chan *encodedBlock, workers)
	empty := make([]chan *encodedBlock, workers)
	for i := range workers {
		made[i], empty[i] = make(chan *encodedBlock, 2), make(chan *encodedBlock, 2)
		empty[i] <- new(encodedBlock)
		empty[i] <- new(encodedBlock)
		k := s.encoders.Get().(*blockEncoder)
		go func() {
			defer s.encoders.Put(k)
			defer close(made[i])
			for j := i; j < len(blocks); j += workers {
				var b *encodedBlock
				select {
				case b = <-empty[i]:
				case <-ctx.Done():
					return
				}
				k.encode(m, blocks[j], b)
				made[i] <- b
				// Appends that wait for a processor come first.
				runtime.Gosched()
			}
		}()
	}
	defer func() {
		// Nobody may look at m any more when this returns.
		cancel()
		for _, c := range made {
			for range c {
			}
		}
	}()
	var done int64
	for j := range blocks {
		b, ok := <-made[j%workers]
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
		empty[j%workers] <- b
	}
	return nil
}
