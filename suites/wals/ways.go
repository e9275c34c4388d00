package wals

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/wal"
)

// A Way is a way of appending records to a log. It is opened in an empty directory, for
// as many records of as many bytes as the Site says.
type Way = job.Way[Log]

// A Log is an open log.
type Log struct {
	// Append returns when the record survives what the way promises. Many
	// goroutines call it.
	Append func(rec []byte) error
	// Close may be nil.
	Close func() error
}

func (l Log) close() error {
	if l.Close == nil {
		return nil
	}
	return l.Close()
}

// Names of ways that experiments choose by.
const (
	wayLone        = "write + fdatasync, one by one"
	WayGroup       = "group commit, by a channel"
	WayAppend      = "wal.Append"
	wayAppendFirst = "wal.Append "
)

// ways returns all ways, the baseline of each level first.
func ways() []Way {
	return []Way{
		lone(wayLone, "os.File under a mutex: what most write first", durability.Power, false),
		lone(wayLone+", written ahead", "the same into a file that zeros were written to before, so that a sync finds no metadata to write", durability.Power, true),
		GroupCommit(),
		Stele(WayAppend, "as it comes: the mechanism that the probe finds fastest", wal.Options{}),
		Stele(wayAppendFirst+string(wal.SyncFdatasync), "pwrite, fdatasync", wal.Options{Sync: wal.SyncFdatasync}),
		Stele(wayAppendFirst+string(wal.SyncDsync), "pwritev2 with RWF_DSYNC", wal.Options{Sync: wal.SyncDsync}),
		Stele(wayAppendFirst+string(wal.SyncDirect), "O_DIRECT and RWF_DSYNC, whole blocks", wal.Options{Sync: wal.SyncDirect}),
		lone("write, one by one", "os.File under a mutex", durability.Kill, false),
		Stele(WayAppend+" kill", "written, not synced", wal.Options{Level: durability.Kill}),
		buffered(),
		Stele(WayAppend+" none", "in memory until 64 KiB wait", wal.Options{Level: durability.None}),
	}
}

// spareTime is how long a log may take to have a file ready for later.
const spareTime = 10 * time.Second

// Stele returns the way of package wal with options o.
func Stele(name, doc string, o wal.Options) Way {
	return Way{
		Name: name, Doc: doc, Promise: job.Promise(o.Level, durability.Prefix),
		Open: func(at job.Site) (Log, error) {
			l, err := wal.Open(filepath.Join(at.Dir, "log"), o)
			if err != nil {
				return Log{}, err
			}
			for begun := time.Now(); l.Stats().Prepared == 0 && time.Since(begun) < spareTime; {
				time.Sleep(time.Millisecond) // the file for later must not be written while appends are timed
			}
			return Log{
				Append: func(rec []byte) error {
					_, err := l.Append(context.Background(), rec)
					return err
				},
				Close: l.Close,
			}, nil
		},
	}
}

// The ways without Stele frame a record by its length and its checksum, so
// that a reader could cut a torn tail, and their promise is that of a log.

// FrameHead is the number of bytes that AppendFrame puts before a record.
const FrameHead = 8

var frameTable = crc32.MakeTable(crc32.Castagnoli)

// AppendFrame appends to b the length of rec, its CRC-32C, and rec.
func AppendFrame(b, rec []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(rec)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(rec, frameTable))
	return append(b, rec...)
}

// NewFile creates a file in dir, writes ahead zeros to it, and syncs the file and the
// directory: content and name survive a power cut.
func NewFile(dir string, ahead int64) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, min(ahead, datafile.MiB))
	for off := int64(0); off < ahead && err == nil; off += int64(len(zeros)) {
		_, err = f.WriteAt(zeros, off)
	}
	if err = errors.Join(err, f.Sync(), datafile.SyncDir(dir)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lone writes each record by itself, and at level Power syncs each.
func lone(name, doc string, level durability.Level, ahead bool) Way {
	return Way{
		Name: name, Doc: doc, Promise: job.Promise(level, durability.Prefix), Baseline: !ahead,
		Open: func(at job.Site) (Log, error) {
			zeros := int64(0)
			if ahead {
				zeros = at.Ops * int64(FrameHead+at.Size)
			}
			f, err := NewFile(at.Dir, zeros)
			if err != nil {
				return Log{}, err
			}
			var mu sync.Mutex
			var buf []byte
			return Log{
				Append: func(rec []byte) error {
					mu.Lock()
					defer mu.Unlock()
					buf = AppendFrame(buf[:0], rec)
					if _, err := f.Write(buf); err != nil || level != durability.Power {
						return err
					}
					return sys.SyncData(f)
				},
				Close: f.Close,
			}, nil
		},
	}
}

// buffered is the usual buffer in memory.
func buffered() Way {
	return Way{
		Name: "bufio.Writer", Doc: "64 KiB in memory, under a mutex", Promise: job.Promise(durability.None, durability.Prefix), Baseline: true,
		Open: func(at job.Site) (Log, error) {
			f, err := NewFile(at.Dir, 0)
			if err != nil {
				return Log{}, err
			}
			var mu sync.Mutex
			var frame []byte
			w := bufio.NewWriterSize(f, 64<<10)
			return Log{
				Append: func(rec []byte) error {
					mu.Lock()
					defer mu.Unlock()
					frame = AppendFrame(frame[:0], rec)
					_, err := w.Write(frame)
					return err
				},
				Close: func() error { return errors.Join(w.Flush(), f.Close()) },
			}, nil
		},
	}
}

// groupRecords is how many records a group commit takes at most.
const groupRecords = 1024

// A groupRequest is a record that waits for its group.
type groupRequest struct {
	rec  []byte
	done chan error
}

// GroupCommit returns the usual group commit: a goroutine takes all records that wait
// in a channel, writes them in one call, syncs once, and answers each appender.
func GroupCommit() Way {
	return Way{
		Name: WayGroup, Doc: "a goroutine takes all that wait in a channel, writes them at once, syncs once, and answers each",
		Promise: job.Promise(durability.Power, durability.Prefix),
		Open: func(at job.Site) (Log, error) {
			f, err := NewFile(at.Dir, 0)
			if err != nil {
				return Log{}, err
			}
			requests := make(chan *groupRequest, groupRecords)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				commitGroups(f, requests)
			}()
			pool := sync.Pool{New: func() any { return &groupRequest{done: make(chan error, 1)} }}
			return Log{
				Append: func(rec []byte) error {
					r := pool.Get().(*groupRequest)
					r.rec = rec
					requests <- r
					err := <-r.done
					pool.Put(r)
					return err
				},
				Close: func() error {
					close(requests)
					<-ended
					return f.Close()
				},
			}, nil
		},
	}
}

func commitGroups(f *os.File, requests <-chan *groupRequest) {
	var group []*groupRequest
	var buf []byte
	var failed error // after a failed sync a later one proves nothing
	for r := range requests {
		group, buf = append(group[:0], r), AppendFrame(buf[:0], r.rec)
	more:
		for len(group) < groupRecords {
			select {
			case r, ok := <-requests:
				if !ok {
					break more
				}
				group, buf = append(group, r), AppendFrame(buf, r.rec)
			default:
				break more
			}
		}
		if failed == nil {
			_, failed = f.Write(buf)
		}
		if failed == nil {
			failed = sys.SyncData(f)
		}
		for _, r := range group {
			r.done <- failed
		}
	}
}
