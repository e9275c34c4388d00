package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of package logstore: after any crash it opens, and has each acknowledged batch
// once and in order, any other batch all or nothing, and no entry that was never
// appended.

// A logNote is an entry of the ledger of a store.
type logNote struct {
	Begun string // ID of a batch that may be there from now on
	Acked string // ID of a batch that is there
	Wrong string // error in the answer of a query before the crash
	// The entries of an ID are about to be deleted, or the deletion was acknowledged.
	Erasing, Erased string
}

// logRetention is far longer than a test. Batches of the kind "old" are so old that they
// expire soon after they are appended.
const logRetention = 24 * time.Hour

// logOptions has the least memory that a store accepts, and so the smallest files of the
// log. With the profile the log syncs by a call that a mutant can leave out.
func logOptions(l durability.Level) logstore.Options {
	profile, err := filepath.Abs("testdata/fdatasync.json")
	if err != nil {
		panic(err)
	}
	return logstore.Options{
		Level: l, LateWindow: -1, Retention: logRetention,
		Memory: 32 << 20, MinFree: 1, Workers: 2, BackgroundRate: -1, Profile: profile,
	}
}

// keepingOptions keeps lines of any age.
func keepingOptions() logstore.Options {
	o := logOptions(durability.Power)
	o.Retention = 0
	return o
}

// logID returns the ID of a batch, which determines its content: kind, goroutine, number,
// and the time of its entries.
func logID(kind string, g, i int, at time.Time) string {
	return fmt.Sprintf("%s-%d-%d-%d", kind, g, i, at.UnixNano())
}

// logBatch returns the batch of an ID: entries of its goroutine's stream, of a stream that
// all share, and of a stream of its own. Many have equal times.
func logBatch(id string) logstore.Batch {
	part := strings.Split(id, "-")
	base, err := strconv.ParseInt(part[len(part)-1], 10, 64)
	if len(part) != 4 || err != nil {
		return nil
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	sum := int(h.Sum32())
	most := 200
	if part[0] == "large" {
		most = 20_000
	}
	var b logstore.Batch
	n := 0
	streams := []logstore.Labels{
		logstore.MustLabels("app", "own", "g", part[1]),
		logstore.MustLabels("app", "shared"),
		logstore.MustLabels("app", "one", "of", part[1]+"-"+part[2]),
	}
	if part[0] == "old" {
		streams = []logstore.Labels{logstore.MustLabels("app", "old", "round", part[2])}
	}
	if part[0] == "erased" {
		streams = []logstore.Labels{logstore.MustLabels("app", "erased", "round", part[2])}
	}
	for _, l := range streams {
		s := logstore.Stream{Labels: l}
		for k := range 1 + sum>>3%3 {
			line := fmt.Sprintf("%s|%d|%s", id, n, strings.Repeat(id[:4+k]+" ", (sum+n*7919)%most/(5+k)))
			e := logstore.Entry{Time: base - int64(n%2), Line: []byte(line)}
			if n%3 == 0 {
				e.Metadata = logstore.MustLabels("id", id)
			}
			s.Entries = append(s.Entries, e)
			n++
		}
		b = append(b, s)
	}
	return b
}

// A storeUse does the steps of a test to a store, and keeps the ledger.
type storeUse struct {
	*logstore.Store
	ack func(logNote)

	mu    sync.Mutex
	has   map[string]bool // acknowledged IDs, for queries meanwhile
	gone  []string        // IDs whose deletion was acknowledged
	alone sync.RWMutex    // read-locked by appends, locked for a segment without them
}

func openStore(dir string, o logstore.Options, ack func(logNote)) (*storeUse, error) {
	s, err := openAgain(dir, o)
	if err != nil {
		return nil, err
	}
	return &storeUse{Store: s, ack: ack, has: map[string]bool{}}, nil
}

// openAgain opens a store. The lock of one that was just closed may be held a
// moment longer: a process that is being started elsewhere in this one has a
// copy of its descriptor until it execs.
func openAgain(dir string, o logstore.Options) (*logstore.Store, error) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		s, err := logstore.Open(dir, o)
		if !errors.Is(err, logstore.ErrLocked) || time.Since(begin) > 2*time.Minute {
			return s, err
		}
	}
}

func (s *storeUse) append(kind string, g, i int) error {
	s.alone.RLock()
	defer s.alone.RUnlock()
	id := logID(kind, g, i, time.Now())
	s.ack(logNote{Begun: id})
	if _, err := s.AppendWith(context.Background(), logBatch(id), logNames(id)); err != nil {
		return err
	}
	s.ack(logNote{Acked: id})
	s.mu.Lock()
	s.has[id] = true
	s.mu.Unlock()
	return nil
}

// look queries everything. If the answer lacks an entry without an error, it notes that in
// the ledger.
func (s *storeUse) look() error {
	s.mu.Lock()
	var want []string
	for id := range s.has {
		want = append(want, id)
	}
	gone := slices.Clone(s.gone)
	s.mu.Unlock()
	got, err := readStore(s.Store)
	if errors.Is(err, logstore.ErrReplaying) {
		return nil // the error says that entries are missing
	}
	if errors.Is(err, prove.ErrLost) {
		s.ack(logNote{Wrong: err.Error()})
	}
	if err != nil {
		return err
	}
	for _, id := range want {
		if n, all := len(got.of[id]), entriesOf(logBatch(id)); n != all {
			s.ack(logNote{Wrong: fmt.Sprintf("a query found %d of the %d entries of %s", n, all, id)})
		}
	}
	for _, id := range gone {
		if n := len(got.of[id]); n > 0 {
			s.ack(logNote{Wrong: fmt.Sprintf("a query found %d deleted entries of %s", n, id)})
		}
	}
	return nil
}

// erase appends entries and deletes them: from memory, or from a segment.
func (s *storeUse) erase(round int) error {
	if round%(1<<20) >= 30 { // enough for one life
		time.Sleep(time.Millisecond)
		return nil
	}
	ctx := context.Background()
	id := logID("erased", 97, round, time.Now())
	s.alone.RLock()
	s.ack(logNote{Begun: id})
	_, err := s.AppendWith(ctx, logBatch(id), logNames(id))
	s.alone.RUnlock()
	if err != nil {
		return err
	}
	s.ack(logNote{Acked: id})
	if round%2 == 0 {
		if err := s.Seal(ctx); err != nil {
			return err
		}
	}
	sel := logstore.Selector{{Name: "app", Value: "erased"}, {Name: "round", Value: fmt.Sprint(round)}}
	s.ack(logNote{Erasing: id})
	if _, err := s.Delete(ctx, logstore.Deletion{Selector: sel}); err != nil {
		return err
	}
	s.ack(logNote{Erased: id})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = append(s.gone, id)
	return nil
}

// expiresIn is the time after which the entries of retire expire.
const expiresIn = 50 * time.Millisecond

// retire appends entries that expire soon, as a segment of their own, and waits until they
// are dropped. The ledger says only that they may be there.
func (s *storeUse) retire(round int) error {
	ctx := context.Background()
	alone := func() error {
		s.alone.Lock()
		defer s.alone.Unlock()
		if err := s.Seal(ctx); err != nil {
			return err
		}
		id := logID("old", 0, round, time.Now().Add(expiresIn-logRetention))
		s.ack(logNote{Begun: id})
		if err := s.Append(ctx, logBatch(id)); err != nil && !errors.Is(err, logstore.ErrExpired) {
			return err
		}
		return s.Seal(ctx)
	}
	if err := alone(); err != nil {
		return err
	}
	// Retention runs after a seal.
	time.Sleep(expiresIn)
	if err := errors.Join(s.append("tiny", 98, round), s.Seal(ctx)); err != nil {
		return err
	}
	old, err := logstore.Match("app", logstore.Equal, "old")
	if err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(2 * time.Millisecond) {
		if left, err := s.Series(ctx, logstore.Query{Selector: logstore.Selector{old}}); err != nil || len(left) == 0 {
			return err
		}
	}
	return errors.New("entries older than the retention are not dropped")
}

// A logLoad is a load of many goroutines on a store.
type logLoad struct {
	level      durability.Level
	goroutines int
	batches    int // of each
	reopen     int // times that the store is closed and opened again, after as many batches again
}

func (l logLoad) run(dir string, ack func(logNote)) error {
	var errs []error
	for life := range l.reopen + 1 {
		errs = append(errs, l.life(dir, ack, life))
	}
	return errors.Join(errs...)
}

// life opens the store, uses it and closes it. Meanwhile other goroutines seal, compact
// and retire.
func (l logLoad) life(dir string, ack func(logNote), life int) error {
	s, err := openStore(dir, logOptions(l.level), ack)
	if err != nil {
		return err
	}
	ctx := context.Background()
	var appenders, others sync.WaitGroup
	var done atomic.Bool
	errs := make([]error, l.goroutines+4)
	for g := range l.goroutines {
		appenders.Go(func() {
			for i := range l.batches {
				kind := "tiny"
				if (i+g)%7 == 6 {
					kind = "large"
				}
				if errs[g] = s.append(kind, g, life*l.batches+i); errs[g] != nil {
					return
				}
			}
		})
	}
	until := func(err *error, f func(round int) error) {
		others.Go(func() {
			for round := 0; *err == nil && (round == 0 || !done.Load()); round++ {
				*err = f(life<<20 + round)
			}
		})
	}
	until(&errs[l.goroutines], s.retire)
	until(&errs[l.goroutines+1], func(int) error { return s.Compact(ctx) })
	until(&errs[l.goroutines+2], func(int) error { return s.look() })
	until(&errs[l.goroutines+3], s.erase)
	appenders.Wait()
	done.Store(true)
	others.Wait()
	return errors.Join(errors.Join(errs...), s.Close())
}

// A logContent is what a query of everything found.
type logContent struct {
	batches map[string]logstore.Batch // batches with entries that were found, as they were appended
	of      map[string][]int          // numbers of the entries that were found, by batch
	streams map[logstore.Labels][]logEntry
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

// readStore reads everything. It returns prove.ErrLost for an entry that was never
// appended, is out of order, or is there twice.
func readStore(s *logstore.Store) (logContent, error) {
	c := logContent{map[string]logstore.Batch{}, map[string][]int{}, map[logstore.Labels][]logEntry{}}
	last := int64(0)
	for f, err := range s.Query(context.Background(), logstore.Query{}) {
		if err != nil {
			return c, fmt.Errorf("query: %w", err)
		}
		id, rest, _ := strings.Cut(string(f.Line), "|")
		number, _, _ := strings.Cut(rest, "|")
		n, err := strconv.Atoi(number)
		if c.batches[id] == nil {
			c.batches[id] = logBatch(id)
		}
		if err != nil || !isEntry(f, c.batches[id], n) {
			return c, fmt.Errorf("%v has %.60q at %d, which was never appended: %w", f.Labels, f.Line, f.Time, prove.ErrLost)
		}
		if f.Time < last {
			return c, fmt.Errorf("%.60q comes after a later one: %w", f.Line, prove.ErrLost)
		}
		if last = f.Time; slices.Contains(c.of[id], n) {
			return c, fmt.Errorf("%.60q is there twice: %w", f.Line, prove.ErrLost)
		}
		c.of[id] = append(c.of[id], n)
		c.streams[f.Labels] = append(c.streams[f.Labels], logEntry{id, n, f.Time})
	}
	return c, nil
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
		case logstore.EventMissing, logstore.EventGap, logstore.EventDamage, logstore.EventQuarantine:
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

// oldStore makes an empty store.
func oldStore(dir string) error {
	s, err := logstore.Open(dir, logOptions(durability.Power))
	if err != nil {
		return err
	}
	return s.Close()
}

// inStore does the work in a directory that the store makes.
func inStore(work func(dir string, ack func(logNote)) error) func(dir string, ack func(logNote)) error {
	return func(dir string, ack func(logNote)) error { return work(filepath.Join(dir, "store"), ack) }
}

func checkInStore(dir string, ledger []logNote) error {
	return checkStore(filepath.Join(dir, "store"), ledger)
}

// The check fails if entries are lost, made up, or missing in a query.
func TestCheckBites(t *testing.T) {
	dir := t.TempDir()
	var ledger []logNote
	s, err := openStore(dir, logOptions(durability.Kill), func(n logNote) { ledger = append(ledger, n) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := s.append("tiny", 0, i); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readStore(s.Store)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.compare(ledger), s.Close()); err != nil {
		t.Fatal(err)
	}
	missing := logID("tiny", 0, 77, time.Now())
	for name, wrong := range map[string]func() []logNote{
		"lost":     func() []logNote { return append(slices.Clip(ledger), logNote{Begun: missing}, logNote{Acked: missing}) },
		"made up":  func() []logNote { return ledger[2:] },
		"by query": func() []logNote { return append(slices.Clip(ledger), logNote{Wrong: "something"}) },
	} {
		if err := c.compare(wrong()); !errors.Is(err, prove.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for id := range c.of {
		c.of[id] = c.of[id][1:]
		break
	}
	if err := c.compare(ledger); !errors.Is(err, prove.ErrLost) {
		t.Errorf("half a batch: %v", err)
	}
}
