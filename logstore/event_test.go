package logstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
)

// A listener collects events.
type listener struct {
	mu   sync.Mutex
	list []Event
}

func (l *listener) hear(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *listener) events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func (l *listener) kinds() (kinds []EventKind) {
	for _, e := range l.events() {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func (l *listener) await(t *testing.T, want ...EventKind) {
	t.Helper()
	until(t, fmt.Sprint("the events ", want), func() bool { return len(l.kinds()) >= len(want) })
	if got := l.kinds(); !slices.Equal(got, want) {
		t.Fatalf("events %v; want %v", got, want)
	}
}

func drain(s *Store) (lines int, err error) {
	for _, e := range s.Query(context.Background(), Query{To: 1 << 62}) {
		if e != nil {
			err = e
		} else {
			lines++
		}
	}
	return lines, err
}

// segmentPaths returns the segments of a store, the oldest first.
func segmentPaths(t testing.TB, dir string) []string {
	t.Helper()
	files, err := segmentFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func flip(t testing.TB, path string, at int64) {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p[at] ^= 0x20
	if err := os.WriteFile(path, p, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Damage that a query finds, its salvage and its quarantine are told in order, and
// Close delivers what is left.
func TestEventsOfDamage(t *testing.T) {
	dir := t.TempDir()
	var heard listener
	o := anyTime()
	o.Events = heard.hear
	s := openTest(t, dir, o)
	line := make([]byte, 3000)
	rand.Read(line)
	mustAppend(t, s, one(MustLabels("a", "b"), 5, string(line)))
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := segmentPaths(t, dir)[0]
	flip(t, path, 2000) // in the only block
	if _, err := drain(s); err == nil {
		t.Fatal("nothing is damaged")
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	heard.await(t, EventDamage, EventSalvage, EventQuarantine)
	for i, e := range heard.events() {
		if e.Upto != 2 || e.Entries != 1 || e.Reason == "" || e.Time.IsZero() || e.MinTime != 5 {
			t.Errorf("%v: %+v", e, e)
		}
		if i == 2 {
			path = filepath.Join(dir, catalog.QuarantineDir, filepath.Base(path))
		}
		if _, err := os.Stat(e.File); e.File != path || i == 2 && err != nil {
			t.Errorf("%v: file %s, %v; want %s", e.Kind, e.File, err, path)
		}
	}
	if r := s.Report(); len(r.Events) != 0 {
		t.Errorf("Open has found %v", r)
	}
}

// A segment whose index is damaged is in the report of Open.
func TestReportOfDamage(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, anyTime())
	mustAppend(t, s, one(MustLabels("a", "b"), 5, "line"))
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := segmentPaths(t, dir)[0]
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, path, fi.Size()-1)
	var heard listener
	o := anyTime()
	o.Events = heard.hear
	s = openTest(t, dir, o)
	r := s.Report()
	if len(r.Events) != 1 || r.Events[0].Kind != EventDamage || r.Events[0].File != path || r.More != 0 {
		t.Errorf("the report is %+v", r)
	}
	if got := r.String(); !strings.HasPrefix(got, "damage: "+path+", offset ") {
		t.Errorf("the report is %q", got)
	}
	until(t, "events", func() bool { return slices.Contains(heard.kinds(), EventDamage) })
}

// While a segment waits for its salvage no query passes for a whole one.
func TestQueriesBeforeSalvage(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, anyTime())
	for i := range 5 {
		mustAppend(t, s, one(MustLabels("a", "b"), int64(i), "line"))
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one(MustLabels("a", "b"), 9, "line"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := segmentPaths(t, dir)[0]
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, path, fi.Size()-1)
	s = openTest(t, dir, anyTime())
	until(t, "the salvage", func() bool {
		lines, err := drain(s)
		if errors.Is(err, ErrIncomplete) {
			return false
		}
		if err != nil || lines != 6 {
			t.Fatalf("%d lines, %v; want 6, or ErrIncomplete", lines, err)
		}
		return true
	})
}

// A prepared file of the log that is damaged goes to quarantine.
func TestUnusedLogIsKept(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, anyTime())
	mustAppend(t, s, one(MustLabels("a", "b"), 1, "line"))
	file := filepath.Join(dir, logDir, "0000000000000002.wal")
	until(t, "a prepared file", func() bool { _, err := os.Stat(file); return err == nil })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, file, 20)
	damaged, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s = openTest(t, dir, anyTime())
	r := s.Report().Events
	if len(r) != 1 || r[0].Kind != EventUnusedLog {
		t.Fatalf("the report is %v", r)
	}
	if kept, err := os.ReadFile(r[0].File); err != nil || !bytes.Equal(kept, damaged) {
		t.Errorf("%s is not the damaged file, %v", r[0].File, err)
	}
	if n, err := drain(s); n != 1 || err != nil {
		t.Errorf("%d lines, %v; want 1", n, err)
	}
}

// Retention, the clock and the free space are told.
func TestEventsOfTheStore(t *testing.T) {
	const day = 24 * time.Hour
	c := new(wrongClock)
	c.ns.Store(newTestClock().ns.Load())
	var heard listener
	var mu sync.Mutex
	free := int64(1 << 40)
	setFree := func(n int64) {
		mu.Lock()
		free = n
		mu.Unlock()
	}
	o := small()
	o.Clock, o.Retention, o.Events = c, 30*day, heard.hear
	o.statfs = func(string) (sys.FSInfo, error) {
		mu.Lock()
		defer mu.Unlock()
		return sys.FSInfo{Free: free, Total: 1 << 40}, nil
	}
	s := openTest(t, t.TempDir(), o)
	setFree(1)
	s.space.refresh()
	setFree(1 << 40)
	s.space.refresh()
	s.space.refresh()
	heard.await(t, EventLowSpace, EventSpace)
	if e := heard.events()[0]; e.Bytes != 1 {
		t.Errorf("%+v", e)
	}
	mustAppend(t, s, one(MustLabels("a", "b"), c.at(-29*day), "line"))
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.ahead.Store(int64(time.Hour))
	s.maintainSignal.wake()
	heard.await(t, EventLowSpace, EventSpace, EventClockAhead)
	c.ahead.Store(0)
	s.maintainSignal.wake()
	heard.await(t, EventLowSpace, EventSpace, EventClockAhead, EventClock)
	c.ns.Add(int64(2 * day))
	s.maintainSignal.wake()
	heard.await(t, EventLowSpace, EventSpace, EventClockAhead, EventClock, EventRetired)
	if e := heard.events()[4]; e.Entries != 1 || e.File == "" || e.MinTime != e.MaxTime {
		t.Errorf("%+v", e)
	}
}

// A function that never returns keeps neither appends nor Close waiting, what it has
// missed is counted, and one that panics gets the next event.
func TestEventsNeverWait(t *testing.T) {
	stuck, entered := make(chan struct{}), make(chan struct{})
	defer close(stuck)
	o := anyTime()
	o.Events = func(Event) { close(entered); <-stuck }
	s := openTest(t, t.TempDir(), o)
	s.events.tell(Event{Kind: EventSpace})
	<-entered
	for range 3 * maxEvents {
		s.events.tell(Event{Kind: EventSpace})
	}
	mustAppend(t, s, one(MustLabels("a", "b"), 1, "line"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	var heard listener
	held := make(chan struct{})
	var fail sync.Once
	o.Events = func(e Event) {
		<-held
		heard.hear(e)
		fail.Do(func() { panic("a bug") })
	}
	s = openTest(t, t.TempDir(), o)
	s.events.tell(Event{Kind: EventSpace})
	until(t, "the first event is taken", func() bool {
		s.events.mu.Lock()
		defer s.events.mu.Unlock()
		return len(s.events.list) == 0
	})
	for range maxEvents + 7 {
		s.events.tell(Event{Kind: EventSpace})
	}
	held <- struct{}{}
	until(t, "the panic is told", func() bool {
		err := s.Stats().BackgroundError
		return err != nil && strings.Contains(err.Error(), "Options.Events panicked: a bug")
	})
	close(held)
	until(t, "all are delivered", func() bool { return len(heard.kinds()) == maxEvents+2 })
	if e := heard.events()[maxEvents+1]; e.Kind != EventDropped || e.Count != 7 {
		t.Errorf("the last is %+v; want 7 dropped", e)
	}
	until(t, "all is well", func() bool { return s.Stats().BackgroundError == nil })
}

// A report is bounded, and each kind has a name.
func TestReportIsBounded(t *testing.T) {
	q := newEventQueue(nil, time.Now, nil)
	for range maxReport + 3 {
		q.tell(Event{Kind: EventLeftover})
	}
	q.endOpen()
	q.tell(Event{Kind: EventDamage})
	if r := q.opened(); len(r.Events) != maxReport || r.More != 3 || !strings.HasSuffix(r.String(), "leftover\nand 3 more\n") {
		t.Errorf("%d events and %d more", len(r.Events), r.More)
	}
	for k := EventDropped; k <= EventFailed; k++ {
		if strings.HasPrefix(k.String(), "EventKind") || k.String() == "" {
			t.Errorf("kind %d has no name", int(k))
		}
	}
	if got := EventKind(99).String(); got != "EventKind(99)" {
		t.Errorf("a kind without a name is %s", got)
	}
	if r := new(Store).Report(); len(r.Events) != 0 {
		t.Errorf("of a store that was not opened: %v", r)
	}
}
