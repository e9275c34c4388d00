package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// A logContent is what queries of everything found.
type logContent struct {
	batches map[string]logstore.Batch // batches with entries that were found, as they were appended
	of      map[string][]int          // numbers of the entries that were found, by batch
	streams map[logStream][]logEntry
	tenants []string // those that the store says it has
}

type logStream struct {
	tenant string
	labels logstore.Labels
}

type logEntry struct {
	id   string
	n    int
	time int64
}

func entriesOf(b logstore.Batch) (n int) {
	for _, s := range b {
		n += len(s.Entries)
	}
	return n
}

// readStore reads everything of each tenant. It returns prove.ErrLost for an entry that was
// never appended, is another tenant's, is out of order, or is there twice.
func readStore(s *logstore.Store) (logContent, error) {
	c := logContent{batches: map[string]logstore.Batch{}, of: map[string][]int{}, streams: map[logStream][]logEntry{}}
	for _, tenant := range append([]string{nobody}, logTenants...) {
		if err := errors.Join(c.read(s, tenant), c.readSeries(s, tenant)); err != nil {
			return c, err
		}
	}
	infos, err := s.Tenants(context.Background(), "", 2*len(logTenants))
	for _, t := range infos {
		if c.tenants = append(c.tenants, t.Name); !slices.Contains(logTenants, t.Name) {
			err = errors.Join(err, fmt.Errorf("the tenant %q, of which no batch is, has %d entries: %w", t.Name, t.Entries, prove.ErrLost))
		}
	}
	return c, err
}

// read adds what a tenant has.
func (c *logContent) read(s *logstore.Store, tenant string) error {
	last := int64(0)
	for f, err := range s.Query(context.Background(), logstore.Query{Tenant: tenant}) {
		if err != nil {
			return fmt.Errorf("query: %w", err)
		}
		id, rest, _ := strings.Cut(string(f.Line), "|")
		number, _, _ := strings.Cut(rest, "|")
		n, err := strconv.Atoi(number)
		if c.batches[id] == nil {
			c.batches[id] = logBatch(id)
		}
		if err != nil || !isEntry(f, c.batches[id], n) {
			return fmt.Errorf("%v has %.60q at %d, which was never appended: %w", f.Labels, f.Line, f.Time, prove.ErrLost)
		}
		if owner := tenantOf(id); owner != tenant {
			return fmt.Errorf("the tenant %q has %.60q of %q: %w", tenant, f.Line, owner, prove.ErrLost)
		}
		if f.Time < last {
			return fmt.Errorf("%.60q comes after a later one: %w", f.Line, prove.ErrLost)
		}
		if last = f.Time; slices.Contains(c.of[id], n) {
			return fmt.Errorf("%.60q is there twice: %w", f.Line, prove.ErrLost)
		}
		c.of[id] = append(c.of[id], n)
		at := logStream{tenant, f.Labels}
		c.streams[at] = append(c.streams[at], logEntry{id, n, f.Time})
	}
	return nil
}

// readSeries looks for streams that are another tenant's.
func (c *logContent) readSeries(s *logstore.Store, tenant string) error {
	series, err := s.Series(context.Background(), logstore.Query{Tenant: tenant})
	for _, l := range series {
		of := l.Get("of") // of the stream of one batch
		if owner := tenantOf("one-" + of); of != "" && owner != tenant {
			return fmt.Errorf("the tenant %q has the stream %v of %q: %w", tenant, l, owner, prove.ErrLost)
		}
	}
	return err
}

// isEntry reports whether f is the n-th entry of the batch.
func isEntry(f logstore.Result, b logstore.Batch, n int) bool {
	for _, s := range b {
		if n < len(s.Entries) && n >= 0 {
			e := s.Entries[n]
			return f.Labels == s.Labels && f.Time == e.Time && string(f.Line) == string(e.Line) && f.Metadata == e.Metadata
		}
		n -= len(s.Entries)
	}
	return false
}

// compare compares the content with the ledger.
func (c logContent) compare(ledger []logNote) error {
	begun, acked := map[string]int{}, map[string]int{} // where in the ledger
	erasing := map[string]bool{}
	for i, n := range ledger {
		switch {
		case n.Wrong != "":
			return fmt.Errorf("before the crash: %s: %w", n.Wrong, prove.ErrLost)
		case n.Erasing != "":
			erasing[n.Erasing] = true
		case n.Erased != "":
			if found := c.of[n.Erased]; len(found) > 0 {
				return fmt.Errorf("the deleted entries %v of %s are there: %w", found, n.Erased, prove.ErrLost)
			}
		case n.Begun != "":
			begun[n.Begun] = i + 1
		case n.Acked != "":
			acked[n.Acked] = i + 1
		}
	}
	for id, found := range c.of {
		if begun[id] == 0 {
			return fmt.Errorf("%s is there before it was appended: %w", id, prove.ErrLost)
		}
		if len(found) != entriesOf(c.batches[id]) {
			return fmt.Errorf("of %s only the entries %v are there: %w", id, found, prove.ErrLost)
		}
	}
	for id := range acked {
		if len(c.of[id]) == 0 && !erasing[id] {
			return fmt.Errorf("%s: %w", id, prove.ErrLost)
		}
		if tenant := tenantOf(id); !erasing[id] && !slices.Contains(c.tenants, tenant) {
			return fmt.Errorf("%s is there, but not its tenant %q: %w", id, tenant, prove.ErrLost)
		}
	}
	// Of two entries of a stream with equal times, the one that was acknowledged
	// before the other was appended is the first.
	for l, entries := range c.streams {
		for i := 1; i < len(entries); i++ {
			a, b := entries[i-1], entries[i]
			if a.time == b.time && (a.id == b.id && a.n > b.n || acked[b.id] != 0 && acked[b.id] < begun[a.id]) {
				return fmt.Errorf("%v: entry %d of %s comes after entry %d of %s, which is younger: %w", l, b.n, b.id, a.n, a.id, prove.ErrLost)
			}
		}
	}
	return nil
}

// readyIn is how long a store may take to replay the log of a test.
const readyIn = 5 * time.Minute

// checkStore opens the store after a crash, reads it, and goes on with it.
func checkStore(dir string, ledger []logNote) error {
	s, err := openAgain(dir, logOptions(durability.Power))
	if err != nil {
		return fmt.Errorf("open: %w: %w", prove.ErrLost, err)
	}
	defer s.Close()
	select {
	case <-s.Ready():
	case <-time.After(readyIn):
		return fmt.Errorf("the store is not ready after %v", readyIn)
	}
	c, err := readStore(s)
	if err != nil {
		return fmt.Errorf("after recovery: %w: %w", prove.ErrLost, err)
	}
	if err := c.compare(ledger); err != nil {
		return err
	}
	if err := noLosses(s, dir); err != nil {
		return err
	}
	return goOnWithStore(s, dir, ledger)
}

// noLosses returns an error if the store misses something, or has anything in quarantine
// but the ends of its log that were cut.
func noLosses(s *logstore.Store, dir string) error {
	for _, e := range s.Report().Events {
		switch e.Kind {
		case logstore.EventMissing, logstore.EventGap, logstore.EventUndeleted, logstore.EventDamage, logstore.EventQuarantine:
			return fmt.Errorf("the report of Open: %v: %w", e, prove.ErrLost)
		}
	}
	q, _ := os.ReadDir(filepath.Join(dir, "quarantine"))
	q = slices.DeleteFunc(q, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "torn-") })
	if len(q) > 0 {
		return fmt.Errorf("%v was quarantined: %w", q, prove.ErrLost)
	}
	return nil
}

// goOnWithStore appends to a recovered store, among others what was begun before the
// crash, seals and compacts it, and reads it again.
func goOnWithStore(s *logstore.Store, dir string, ledger []logNote) error {
	ctx := context.Background()
	id := logID("large", 99, 0, time.Now())
	ledger = append(slices.Clip(ledger), logNote{Begun: id})
	if _, err := s.AppendWith(ctx, logBatch(id), logNames(id)); err != nil {
		return fmt.Errorf("append after recovery: %w", err)
	}
	ledger, err := retry(s, append(ledger, logNote{Acked: id}), false)
	if err != nil {
		return fmt.Errorf("after recovery: %w", err)
	}
	again := func(when string) error {
		c, err := readStore(s)
		if err == nil {
			err = c.compare(ledger)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", when, err)
		}
		return nil
	}
	if err := again("after an append after recovery"); err != nil {
		return err
	}
	if err := errors.Join(s.Seal(ctx), s.Compact(ctx)); err != nil {
		return fmt.Errorf("seal and compact after recovery: %w", err)
	}
	if err := again("after a compaction after recovery"); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("close after recovery: %w", err)
	}
	if err := noLeftovers(dir); err != nil {
		return err
	}
	return retryLater(dir, ledger)
}

// retryLater opens a store again that knows all batches.
func retryLater(dir string, ledger []logNote) error {
	s, err := openAgain(dir, logOptions(durability.Power))
	if err != nil {
		return fmt.Errorf("open once more: %w: %w", prove.ErrLost, err)
	}
	defer s.Close()
	<-s.Ready()
	_, err = retry(s, ledger, true)
	return err
}

// noLeftovers returns an error if there is a file that is not a segment.
func noLeftovers(dir string) error {
	return filepath.WalkDir(filepath.Join(dir, "segments"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) != ".seg" {
			err = fmt.Errorf("%s is left over", name)
		}
		return err
	})
}
