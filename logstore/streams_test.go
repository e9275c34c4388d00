package logstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/durability"
)

// While streams come and go, and their numbers are used again, a query finds all
// entries of the streams that it selects, and of no other.
func TestStreamsComeAndGo(t *testing.T) {
	o := small()
	o.Level, o.LateWindow, o.FutureWindow = durability.Kill, -1, -1
	s := openTest(t, t.TempDir(), o)
	const writers, perStream = 3, 5
	var acked [writers]atomic.Int64 // streams
	var writing, others sync.WaitGroup
	var stop atomic.Bool
	label := func(w, n int) string { return fmt.Sprintf("%d-%d", w, n) }
	for w := range writers {
		writing.Go(func() {
			for n := range 1500 {
				l := MustLabels("group", fmt.Sprint(n%7), "id", label(w, n))
				for range perStream {
					if err := s.Append(t.Context(), one(l, int64(n), label(w, n))); err != nil {
						t.Error(err)
						return
					}
				}
				acked[w].Store(int64(n + 1))
			}
		})
	}
	others.Go(func() {
		for !stop.Load() {
			if err := s.Seal(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	for q := range 2 {
		others.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(q), 1))
			for !stop.Load() {
				w := rnd.IntN(writers)
				known := int(acked[w].Load())
				if known == 0 {
					continue
				}
				n := max(0, known-1-rnd.IntN(20))
				sel, want := Selector{{Name: "id", Value: label(w, n)}}, perStream
				if q == 1 {
					re, err := Match("id", Matches, label(w, n)+"|nobody.*")
					if err != nil {
						t.Error(err)
						return
					}
					sel = Selector{{Name: "group", Op: NotEqual, Value: "x"}, re}
				}
				got := 0
				for r, err := range s.Query(t.Context(), Query{Selector: sel}) {
					if err != nil {
						t.Error(err)
						return
					}
					if got++; r.Labels.Get("id") != label(w, n) || string(r.Line) != label(w, n) {
						t.Errorf("%v and %q for %v", r.Labels, r.Line, sel)
					}
				}
				if got != want {
					t.Errorf("%d entries for %v, want %d", got, sel, want)
				}
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	others.Wait()
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "no stream is in memory", func() bool { return s.labels.Len() == 0 })
	if n := s.labels.Len(); n != 0 {
		t.Errorf("%d streams", n)
	}
}

// A query that began before a memtable was sealed selects its streams, though
// they are forgotten when it looks.
func TestSelectBehindSeal(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	l := MustLabels("app", "api")
	now := s.o.now().UnixNano()
	mustAppend(t, s, one(l, now, "x"))
	x, err := s.search(t.Context(), Query{Selector: Selector{{Name: "app", Value: "api"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.streams.forgetReleased()
	mustAppend(t, s, one(MustLabels("app", "other"), now, "y"))
	var found []string
	err = x.run(func(r Result, err error) bool {
		if err != nil {
			t.Error(err)
		}
		found = append(found, string(r.Line))
		return true
	})
	if err != nil || strings.Join(found, " ") != "x" {
		t.Errorf("found %q, %v", found, err)
	}
	until(t, "the sealed stream is forgotten", func() bool { return s.labels.Len() == 1 })
}
