package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	etcdwal "go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/wal"
)

// A log is a library in the tests of damage and crashes: a log of small segments with one
// caller.
type log struct {
	name string
	// make makes a log in dir.
	make func(dir string) (saver, error)
	// reopen opens the log in dir and reads it. Where the saver has no save the
	// library does not go on with a log that was there.
	reopen func(dir string) (recs [][]byte, s saver, err error)
	// former makes a log that a recycled file may have held before; nil is make.
	former func(dir string) (saver, error)
}

// logSegment is the size of segments, in bytes.
const logSegment = 64 << 10

// logs are Stele's, then the peers'.
func logs() []log {
	etcdwal.SegmentSizeBytes = logSegment
	opens := func(reopen func(dir string, segment int) ([][]byte, saver, error)) (func(string) (saver, error), func(string) ([][]byte, saver, error)) {
		return func(dir string) (saver, error) {
				_, s, err := reopen(dir, logSegment)
				return s, err
			}, func(dir string) ([][]byte, saver, error) {
				return reopen(dir, logSegment)
			}
	}
	list := []log{{name: "stele wal"}, {name: "etcd wal", make: openEtcd, reopen: reopenEtcd}, {name: "raft-wal"}, {name: "tidwall/wal"}, {
		"pebble record", pebbleSaver(pebbleNumber), reopenPebble, pebbleSaver(pebbleNumber - 1),
	}}
	list[0].make, list[0].reopen = opens(reopenStele)
	list[2].make, list[2].reopen = opens(reopenRaft)
	list[3].make, list[3].reopen = opens(reopenTidwall)
	return list
}

func reopenStele(dir string, segment int) (recs [][]byte, s saver, err error) {
	l, err := wal.Open(filepath.Join(dir, "log"), wal.Options{SegmentSize: int64(segment), Sync: wal.SyncFdatasync})
	if err != nil {
		return nil, saver{}, err
	}
	for rec, err := range l.All(0) {
		if err != nil {
			return nil, saver{}, errors.Join(err, l.Close())
		}
		recs = append(recs, bytes.Clone(rec.Data))
	}
	return recs, saver{
		save: func(recs [][]byte) error {
			_, err := l.AppendBatch(context.Background(), recs)
			return err
		},
		close: l.Close,
	}, nil
}

// pebbleSaver makes logs of that number in recycled files.
func pebbleSaver(number uint64) func(dir string) (saver, error) {
	return func(dir string) (saver, error) {
		name := filepath.Join(dir, "000007.log")
		if err := fillZeros(name, 3*logSegment); err != nil {
			return saver{}, err
		}
		f, err := vfs.Default.ReuseForWrite(name, name, "pebble-wal")
		if err != nil {
			return saver{}, err
		}
		l, err := pebbleLog(dir, f, number)
		if err != nil {
			return saver{}, err
		}
		return saver{
			save: func(recs [][]byte) error {
				for _, rec := range recs {
					if err := l.Append(rec); err != nil {
						return err
					}
				}
				return nil
			},
			close: l.Close,
		}, nil
	}
}

// logRecord returns the record of a number: about 1,000 bytes, unlike any other.
func logRecord(i int) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	rec := fmt.Appendf(nil, "record %06d ", i)
	for n := 900 + r.IntN(200); len(rec) < n; {
		rec = append(rec, byte(r.Uint32()))
	}
	return rec
}

// memoryDir returns a new directory, in memory if possible.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stele-peers-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Each library gives back what several appenders added, by each of its ways.
func TestWALPeersKeepRecords(t *testing.T) {
	reopen := map[string]func(dir string) ([][]byte, saver, error){}
	for _, l := range logs() {
		library, _, _ := strings.Cut(l.name, " ")
		reopen[library] = l.reopen
	}
	etcdwal.SegmentSizeBytes = 64e6
	const appenders, records = 8, 60
	for _, w := range walWays() {
		t.Run(w.Name, func(t *testing.T) {
			dir := memoryDir(t)
			l, err := w.Open(job.Site{Dir: dir, Ops: appenders * records, Size: 1100})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for a := range appenders {
				wg.Go(func() {
					for i := range records {
						if err := l.Append(logRecord(a*records + i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			library, _, _ := strings.Cut(w.Name, " ")
			recs, s, err := reopen[library](dir)
			if err != nil {
				t.Fatal(err)
			}
			if s.close != nil {
				s.close()
			}
			var next [appenders]int
			for _, rec := range recs {
				var i int
				fmt.Sscanf(string(rec), "record %d", &i)
				if !bytes.Equal(rec, logRecord(i)) || i%records != next[i/records] {
					t.Fatalf("record %d is damaged, or not in its order", i)
				}
				next[i/records]++
			}
			if len(recs) != appenders*records {
				t.Errorf("%d records, want %d", len(recs), appenders*records)
			}
			if w.Promise.Level != durability.Power {
				t.Errorf("level %v; all of them sync", w.Promise.Level)
			}
		})
	}
}
