package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
)

// linesOf returns a batch of the next n lines, one a stream entry.
func linesOf(source *Lines, labels []logstore.Labels, n int) logstore.Batch {
	batch := make(logstore.Batch, n)
	var e Line
	for i := range batch {
		source.Next(&e)
		batch[i] = logstore.Stream{Labels: labels[e.Stream], Entries: []logstore.Entry{{Time: e.Time, Line: bytes.Clone(e.Line)}}}
	}
	return batch
}

// A storeWay is a way of keeping log lines. It makes its store in the directory "store" of
// the site, which must not exist. A crash leaves a prefix of the lines.
type storeWay = job.Way[store]

// A store is an open store of lines. append and find are called from many goroutines.
type store struct {
	// append adds a batch of lines.
	append func(logstore.Batch) error
	// find returns the number of lines that contain the word.
	find func(word string) (int, error)
	// size returns the bytes that the lines take on disk, once they are sealed and
	// compacted.
	size   func() (int64, error)
	close  func() error
	engine *logstore.Store // or nil
}

// The names of the ways.
const (
	wayGob        = "gob under a lock"
	wayGobPower   = "gob under a lock, fdatasync"
	wayStorePower = "logstore"
	wayStoreKill  = "logstore kill"
	wayStoreEvery = "logstore kill, synced every 100ms"
)

// ways returns all ways, the baseline of each level first.
func ways() []storeWay {
	return []storeWay{
		gobWay(wayGobPower, "each line a gob record in one file, under a mutex; the file is synced before a batch is acknowledged", durability.Power),
		engineWay(wayStorePower, "as it comes: one record a batch in a log with group commit, sealed into segments meanwhile",
			logstore.Options{}),
		gobWay(wayGob, "each line a gob record in one file, under a mutex; what most write first", durability.Kill),
		engineWay(wayStoreKill, "acknowledged when written, synced when sealed",
			logstore.Options{Level: durability.Kill}),
		engineWay(wayStoreEvery, "acknowledged when written, synced at least so often",
			logstore.Options{Level: durability.Kill, SyncEvery: 100 * time.Millisecond}),
	}
}

func gobWay(name, doc string, level durability.Level) storeWay {
	return storeWay{
		Name: name, Doc: doc, Promise: job.Promise(level, durability.Prefix), Baseline: true,
		Open: func(at job.Site) (store, error) { return openGob(storeDir(at), level == durability.Power) },
	}
}

func engineWay(name, doc string, o logstore.Options) storeWay {
	return storeWay{Name: name, Doc: doc, Promise: job.Promise(o.Level, durability.Prefix), Open: openStore(o)}
}

func storeDir(at job.Site) string { return filepath.Join(at.Dir, "store") }

func openStore(o logstore.Options) func(job.Site) (store, error) {
	return func(at job.Site) (store, error) {
		dir := storeDir(at)
		s, err := logstore.Open(dir, o)
		if err != nil {
			return store{}, err
		}
		<-s.Ready()
		ctx := context.Background()
		return store{
			append: func(b logstore.Batch) error { return s.Append(ctx, b) },
			find: func(word string) (int, error) {
				n, _, err := find(ctx, s, logstore.Query{Filter: logstore.Word(word)})
				return n, err
			},
			size: func() (int64, error) {
				_, size, err := dirSize(filepath.Join(dir, "segments"))
				return size, err
			},
			close: s.Close, engine: s,
		}, nil
	}
}

// find runs a query and returns the number of entries.
func find(ctx context.Context, s *logstore.Store, q logstore.Query) (n int, took time.Duration, err error) {
	begin := time.Now()
	for _, e := range s.Query(ctx, q) {
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		n++
	}
	return n, time.Since(begin), err
}

// countAll counts all entries.
func countAll(ctx context.Context, s *logstore.Store) (n int64, took time.Duration, err error) {
	begin := time.Now()
	counts, err := s.Count(ctx, logstore.Query{}, 0)
	took = time.Since(begin)
	for _, c := range counts {
		for _, b := range c.Buckets {
			n += b.Entries
		}
	}
	return n, took, err
}

// lastOf returns the query for the last n entries of a stream.
func lastOf(l logstore.Labels, n int) logstore.Query {
	q := logstore.Query{Order: logstore.Backward, Limit: n}
	for name, value := range l.All() {
		q.Selector = append(q.Selector, logstore.Matcher{Name: name, Op: logstore.Equal, Value: value})
	}
	return q
}

// probe appends a line with the current time and queries the last one of its stream
// until that is the line. It returns the time since the acknowledgement, and the
// number of queries.
func probe(ctx context.Context, s *logstore.Store, l logstore.Labels, line []byte) (took time.Duration, queries int, err error) {
	now := time.Now().UnixNano()
	if err := s.Append(ctx, logstore.Batch{{Labels: l, Entries: []logstore.Entry{{Time: now, Line: line}}}}); err != nil {
		return 0, 0, err
	}
	for acked := time.Now(); ; {
		queries++
		for e, err := range s.Query(ctx, lastOf(l, 1)) {
			if err != nil {
				return 0, 0, err
			}
			if bytes.Equal(e.Line, line) {
				return time.Since(acked), queries, nil
			}
		}
		if time.Since(acked) > time.Minute {
			return 0, queries, fmt.Errorf("%q does not become visible", line)
		}
	}
}

// dirSize returns the number and the size of the files below dir.
func dirSize(dir string) (files int, size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files++
			size += info.Size()
		}
		return err
	})
	return files, size, err
}

// A gobStore is the simplest store: a file of gob records, one writer at a time, and no
// index.
type gobStore struct {
	sync bool

	mu   sync.Mutex
	f    *os.File
	enc  *gob.Encoder // its types are sent once
	size int64        // bytes of whole records
}

// A gobLine is a record.
type gobLine struct {
	Time   int64
	Labels map[string]string
	Line   []byte
}

func openGob(dir string, sync bool) (store, error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return store{}, err
	}
	f, err := wals.NewFile(dir, 0)
	if err != nil {
		return store{}, err
	}
	g := &gobStore{sync: sync, f: f}
	g.enc = gob.NewEncoder(g)
	return store{
		append: g.append, find: g.find, close: f.Close,
		size: func() (int64, error) {
			info, err := f.Stat()
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		},
	}, nil
}

// Write implements io.Writer, for the encoder.
func (g *gobStore) Write(p []byte) (int, error) {
	n, err := g.f.Write(p)
	g.size += int64(n)
	return n, err
}

func (g *gobStore) append(b logstore.Batch) error {
	for i := range b {
		labels := map[string]string{}
		for name, value := range b[i].Labels.All() {
			labels[name] = value
		}
		for _, e := range b[i].Entries {
			g.mu.Lock()
			err := g.enc.Encode(gobLine{e.Time, labels, e.Line})
			g.mu.Unlock()
			if err != nil {
				return err
			}
		}
	}
	if !g.sync {
		return nil
	}
	return sys.SyncData(g.f)
}

// find reads the records that were whole when it began.
func (g *gobStore) find(word string) (n int, err error) {
	g.mu.Lock()
	size := g.size
	g.mu.Unlock()
	dec := gob.NewDecoder(bufio.NewReaderSize(io.NewSectionReader(g.f, 0, size), 64<<10))
	for {
		var l gobLine // a gob leaves out what is zero, and adds to a map
		switch err := dec.Decode(&l); {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
		if bytes.Contains(l.Line, []byte(word)) {
			n++
		}
	}
}
