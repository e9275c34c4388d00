package logstore

import (
	"fmt"
	"strings"
	"testing"
)

// What a query of everything takes is what Stats tells, to its end, however many
// streams there are and however long their labels are, also if a dozen stall.
func TestScansAreBounded(t *testing.T) {
	const memory = minMemory
	for _, c := range []struct {
		name    string
		streams int
		labels  func(i int) Labels
		line    string
	}{
		{"many streams", 60_000, func(i int) Labels {
			return MustLabels("app", fmt.Sprint(i%7), "pod", fmt.Sprintf("pod-%08d-%x", i, i*7919))
		}, "x"},
		{"large labels", 6_000, func(i int) Labels {
			return MustLabels("app", "a", "pod", fmt.Sprint(i*7919, strings.Repeat("v", 3900)))
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := held(&Store{pool: newMemtablePool(0)}, 0)
			o := anyTime()
			o.Memory, o.MaxStreams, o.Workers = memory, 1<<30, 2
			s := openTest(t, t.TempDir(), o)
			const batch = 1_000
			for i := 0; i < c.streams; i += batch {
				var b Batch
				for j := i; j < i+batch; j++ {
					// The order of times is not that of labels.
					at := int64(1e18) + int64(j*7919%c.streams)
					b = append(b, Stream{c.labels(j), []Entry{{Time: at, Line: []byte(c.line)}}})
				}
				mustAppend(t, s, b)
				if (i+batch)%(c.streams/3) == 0 {
					if err := s.Seal(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			until(t, "the streams are forgotten", func() bool { return s.Stats().Streams == 0 })
			var most, worst int64
			look := func() {
				told := toldBy(s)
				has := held(s, base)
				most, worst = max(most, has), max(worst, has-max(told, toldBy(s)))
			}
			for range 2 { // the caches are full then
				rows := 0
				for _, err := range s.Query(t.Context(), Query{}) {
					if err != nil {
						t.Fatal(err)
					}
					if rows++; rows%(c.streams/10) == 0 {
						look()
					}
				}
				if rows != c.streams {
					t.Fatalf("%d rows; want %d", rows, c.streams)
				}
				look()
			}
			for range 12 {
				stallQuery(t, s)
				until(t, "no worker reads", s.reads.areIdle)
				look()
			}
			t.Logf("at most %.1f MiB, and %.1f MiB more than Stats told", float64(most)/(1<<20), float64(worst)/(1<<20))
			if most > memory {
				t.Errorf("%d bytes; want at most %d", most, memory)
			}
			if worst > memory/6 { // with what is being read
				t.Errorf("%d bytes that Stats did not tell", worst)
			}
		})
	}
}

// areIdle reports whether no scan reads.
func (r *readPool) areIdle() bool {
	for _, s := range r.running() {
		s.mu.Lock()
		idle := s.workers.idle == len(s.workers.reads) && (s.x.grant.parked || !s.mayRead())
		s.mu.Unlock()
		if !idle {
			return false
		}
	}
	return true
}
