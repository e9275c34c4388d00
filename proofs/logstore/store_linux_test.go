package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
		Level: l, LateWindow: -1, Retention: logRetention, KeyWindow: logRetention,
		Memory: 32 << 20, MinFree: 1, Workers: 2, BackgroundRate: -1, Profile: profile,
		Codec: logstore.CodecColumns,
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
// all share, and of a stream of its own. Many have equal times. Each tenant has streams of
// the same labels.
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
	if part[0] == "erased" || part[0] == "kept" {
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
// copy of its descriptor until it execs. The codec changes with the number of segments, so
// that a store has blocks of both.
func openAgain(dir string, o logstore.Options) (*logstore.Store, error) {
	segments, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if err != nil {
		return nil, err
	}
	if o.Codec = logstore.CodecColumns; len(segments)%2 > 0 {
		o.Codec = logstore.CodecLines
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		s, err := logstore.Open(dir, o)
		if !errors.Is(err, logstore.ErrLocked) || time.Since(begin) > 2*time.Minute {
			return s, err
		}
	}
}

// openAfterCrash opens a store for a check, and waits until the log is replayed. That it cannot
// be opened is a loss.
func openAfterCrash(dir string) (*logstore.Store, error) {
	s, err := openAgain(dir, keepingOptions())
	if err != nil {
		return nil, fmt.Errorf("open: %w: %w", prove.ErrLost, err)
	}
	<-s.Ready()
	return s, nil
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

// erase appends entries and deletes them: from memory, or from a segment. Another tenant
// keeps entries of the same labels.
func (s *storeUse) erase(round int) error {
	if round%(1<<20) >= 30 { // enough for one life
		time.Sleep(time.Millisecond)
		return nil
	}
	ctx := context.Background()
	g := 96 + round/2%2 // with keys, and with a source
	if err := s.append("kept", g, round); err != nil {
		return err
	}
	id := logID("erased", g, round, time.Now())
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
	s.ack(logNote{Erasing: id})
	if _, err := s.Delete(ctx, deletionOf(id)); err != nil {
		return err
	}
	s.ack(logNote{Erased: id})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = append(s.gone, id)
	return nil
}

// deletionOf deletes the batch of an ID of the kind "erased": in some rounds by a condition
// that all its lines meet, which is another record of the log.
func deletionOf(id string) logstore.Deletion {
	round := logBatch(id)[0].Labels.Get("round")
	sel := logstore.Selector{{Name: "app", Value: "erased"}, {Name: "round", Value: round}}
	d := logstore.Deletion{Tenant: tenantOf(id), Selector: sel}
	if strings.ContainsAny(round[max(0, len(round)-1):], "1256") {
		d.Lines = []logstore.LineMatch{{Op: logstore.NotEqual, Text: "no line has this"}}
	}
	return d
}

// expiresIn is the time after which the entries of retire expire.
const expiresIn = 50 * time.Millisecond

// retire appends entries that expire soon, as a segment of their own, and waits until they
// are dropped. The ledger says only that they may be there.
func (s *storeUse) retire(round int) error {
	ctx := context.Background()
	id := ""
	alone := func() error {
		s.alone.Lock()
		defer s.alone.Unlock()
		if err := s.Seal(ctx); err != nil {
			return err
		}
		id = logID("old", 0, round, time.Now().Add(expiresIn-logRetention))
		s.ack(logNote{Begun: id})
		if _, err := s.AppendWith(ctx, logBatch(id), logNames(id)); err != nil && !errors.Is(err, logstore.ErrExpired) {
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
		if left, err := s.Series(ctx, logstore.Query{Tenant: tenantOf(id), Selector: logstore.Selector{old}}); err != nil || len(left) == 0 {
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
