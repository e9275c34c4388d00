package peers

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
)

// pebbleNumber is the number of pebble's log file, which records carry.
const pebbleNumber = 7

// pebbleAhead is how much of a log pebble preallocates with its default memtable of
// 4 MiB.
const pebbleAhead = 4<<20 + 4<<20/10

// openPebble makes a log as pebble's WAL manager does (wal.StandaloneManager):
// a file, its directory synced, in a SyncingFile, and a LogWriter with a
// semaphore for its queue. A recycled file has zeros here.
func openPebble(recycled bool) openLog {
	return func(at job.Site) (wals.Log, error) {
		dir := at.Dir
		name := filepath.Join(dir, "000007.log")
		if recycled {
			old := filepath.Join(dir, "000006.log")
			// Each record has a head of 19 bytes at most, and one more in each
			// block of 32 KiB.
			if err := fillZeros(old, at.Ops*(int64(at.Size)+40)+1<<20); err != nil {
				return wals.Log{}, err
			}
			f, err := vfs.Default.ReuseForWrite(old, name, "pebble-wal")
			if err != nil {
				return wals.Log{}, err
			}
			return pebbleLog(dir, f, pebbleNumber)
		}
		f, err := vfs.Default.Create(name, "pebble-wal")
		if err != nil {
			return wals.Log{}, err
		}
		return pebbleLog(dir, f, pebbleNumber)
	}
}

// pebbleLog returns a log of that number in f.
func pebbleLog(dir string, f vfs.File, number uint64) (wals.Log, error) {
	d, err := vfs.Default.OpenDir(dir)
	if err == nil {
		err = d.Sync()
		d.Close()
	}
	if err != nil {
		f.Close()
		return wals.Log{}, err
	}
	queue := make(chan struct{}, record.SyncConcurrency)
	w := logWriter(record.NewLogWriter, vfs.NewSyncingFile(f, vfs.SyncingFileOptions{PreallocateSize: pebbleAhead}), number,
		record.LogWriterConfig{
			QueueSemChan:        queue,
			WriteWALSyncOffsets: func() bool { return true },
			// A database always has one; without it the writer notes no offsets.
			WALFsyncLatency: prometheus.NewHistogram(prometheus.HistogramOpts{}),
		})
	type waiter struct {
		wg  sync.WaitGroup
		err error
	}
	pool := sync.Pool{New: func() any { return new(waiter) }}
	var mu sync.Mutex // as in the commit pipeline
	return wals.Log{
		Append: func(rec []byte) error {
			r := pool.Get().(*waiter)
			r.err = nil
			r.wg.Add(1)
			queue <- struct{}{}
			mu.Lock()
			_, err := w.SyncRecord(rec, &r.wg, &r.err)
			mu.Unlock()
			if err != nil {
				return err // r is dropped: the writer may still have it
			}
			r.wg.Wait()
			err = r.err
			pool.Put(r)
			return err
		},
		Close: w.Close,
	}, nil
}

// logWriter calls record.NewLogWriter with a number that is no constant; its
// type is one of pebble's own.
func logWriter[N ~uint64](open func(io.Writer, N, record.LogWriterConfig) *record.LogWriter, w io.Writer, number uint64, c record.LogWriterConfig) *record.LogWriter {
	return open(w, N(number), c)
}

// fillZeros writes a file of n zeros, and syncs it.
func fillZeros(name string, n int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	zeros := make([]byte, 1<<20)
	for ; n > 0; n -= int64(len(zeros)) {
		if _, err := f.Write(zeros[:min(n, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return f.Sync()
}

// reopenPebble reads the log as pebble reads its last one when a database is
// opened (DB.replayWAL): an end that is not clean is tolerated, an invalid
// record before a later sync is not. pebble then appends to another file, so the saver
// has no save.
func reopenPebble(dir string) (recs [][]byte, s saver, err error) {
	f, err := os.Open(filepath.Join(dir, "000007.log"))
	if err != nil {
		return nil, saver{}, err
	}
	defer f.Close()
	r := record.NewReader(f, pebbleNumber)
	for {
		part, err := r.Next()
		if err == nil {
			var rec []byte
			if rec, err = io.ReadAll(part); err == nil {
				recs = append(recs, rec)
				continue
			}
		}
		if err == io.EOF || errors.Is(err, record.ErrUnexpectedEOF) {
			return recs, saver{}, nil
		}
		return nil, saver{}, err
	}
}
