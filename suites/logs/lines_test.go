package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"
)

func mustLogLines(t testing.TB, seed uint64, corpus string) *Lines {
	t.Helper()
	l, err := newLines(seed, Source{Corpus: corpus})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sumOf returns a hash of the next n lines and their labels.
func sumOf(l *Lines, n int, seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var e Line
	for range n {
		l.Next(&e)
		fmt.Fprintln(&h, e.App, e.Host, e.Level, e.Stream, e.Time)
		h.Write(e.Line)
	}
	return h.Sum64()
}

func TestLogLinesAreTheSameForASeed(t *testing.T) {
	seed := maphash.MakeSeed()
	for name, corpus := range map[string]string{"built in": "", "corpus": writeCorpus(t)} {
		one := mustLogLines(t, 7, corpus)
		want := sumOf(one, 2_000, seed)
		if sumOf(mustLogLines(t, 7, corpus), 2_000, seed) != want {
			t.Errorf("%s: the same seed gave other lines", name)
		}
		if sumOf(one.Fork(7), 2_000, seed) != want {
			t.Errorf("%s: a fork with the same seed gave other lines", name)
		}
		if sumOf(one.Fork(8), 2_000, seed) == want {
			t.Errorf("%s: another seed gave the same lines", name)
		}
	}
}

// Lines are as their documentation says.
func TestLogLinesAreAsInLife(t *testing.T) {
	const n = 200_000
	l := mustLogLines(t, 1, "")
	if len(l.systems) < 8 || len(l.streams) < 350 || len(l.streams) > 450 {
		t.Errorf("%d systems, %d streams", len(l.systems), len(l.streams))
	}
	count := make([]int, len(l.streams))
	levels := make(map[string]int)
	nanos := make(map[string]bool)
	blocks := make(map[string]int)
	block := regexp.MustCompile(`blk_\d{19}`)
	size, last := 0, int64(0)
	var e Line
	for range n {
		l.Next(&e)
		if want := (logStream{e.App, e.Host, e.Level}); l.streams[e.Stream] != want {
			t.Fatalf("a line of %v has the stream %v", want, l.streams[e.Stream])
		}
		if e.Time < last-int64(time.Millisecond) {
			t.Fatalf("the time went from %d back to %d", last, e.Time)
		}
		last = e.Time
		size += len(e.Line)
		count[e.Stream]++
		levels[e.Level]++
		if e.Time%int64(time.Millisecond) != 0 {
			nanos[e.App] = true
		}
		if b := block.Find(e.Line); b != nil {
			blocks[string(b)]++
		}
	}
	if mean := float64(size) / n; mean < 125 || mean > 155 {
		t.Errorf("a line has %.1f bytes on average", mean)
	}
	if len(nanos) != len(l.systems)/2 {
		t.Errorf("%v have nanoseconds, of %d systems", nanos, len(l.systems))
	}
	for level, most := range map[string]int{"info": n, "warn": n / 8, "error": n / 25} {
		if levels[level] == 0 || levels[level] > most {
			t.Errorf("%d lines of level %s", levels[level], level)
		}
	}
	for i, c := range count {
		if c == 0 {
			t.Errorf("no line of stream %v", l.streams[i])
		}
	}
	slices.Sort(count)
	quarter := 0
	for _, c := range count[len(count)*3/4:] {
		quarter += c
	}
	if quarter < n*6/10 {
		t.Errorf("the largest quarter of the streams has only %d of %d lines", quarter, n)
	}
	lines := 0
	for _, c := range blocks {
		lines += c
	}
	if mean := float64(lines) / float64(len(blocks)); mean < 5 || mean > 30 {
		t.Errorf("an id is in %.1f lines on average", mean)
	}
	if rate := n / (float64(l.now-logStart) / 1e9); math.Abs(rate-7600) > 200 {
		t.Errorf("%.0f lines a second", rate)
	}
}

// Times in the lines are those of the entries, as package time formats them.
func TestLogLinesTellTheTime(t *testing.T) {
	layouts := map[string]string{
		"web": "02/Jan/2006:15:04:05", "orders": "2006-01-02T15:04:05.000Z", "billing": "2006-01-02 15:04:05,000",
		"kernel": "Jan _2 15:04:05", "sshd": "Jan _2 15:04:05", "blockstore": "060102 150405",
		"ingest": "2006-01-02T15:04:05.000Z", "database": "2006-01-02 15:04:05.000",
	}
	l := mustLogLines(t, 3, "")
	l.now += int64(4*24*time.Hour) - int64(time.Second) // days of one digit, and of two
	var e Line
	for range 50_000 {
		l.Next(&e)
		if want := time.Unix(0, e.Time).UTC().Format(layouts[e.App]); !bytes.Contains(e.Line, []byte(want)) {
			t.Fatalf("%s: no %q in %q", e.App, want, e.Line)
		}
		if e.App == "orders" && !json.Valid(e.Line) {
			t.Fatalf("no JSON: %s", e.Line)
		}
	}
}

func TestLogLinesPlant(t *testing.T) {
	l := mustLogLines(t, 4, "")
	where := map[int64]string{0: "quetzal", 17: "quetzal", 18: "quetzal axolotl", 9_999: "axolotl"}
	for _, p := range []logPlant{{18, "quetzal"}, {9_999, "axolotl"}, {0, "quetzal"}, {18, "axolotl"}, {17, "quetzal"}} {
		if err := l.plantWord(p.word, p.line); err != nil {
			t.Fatal(err)
		}
	}
	plain := l.Fork(4)
	var e, without Line
	for i := range int64(10_000) {
		l.Next(&e)
		plain.Next(&without)
		if where[i] == "" {
			if !bytes.Equal(e.Line, without.Line) {
				t.Fatalf("line %d became %q", i, e.Line)
			}
			continue
		}
		if !bytes.Contains(e.Line, []byte(where[i])) || len(e.Line) != len(without.Line)+len(where[i])+1 {
			t.Errorf("line %d is %q, should have %q", i, e.Line, where[i])
		}
		if e.App == "orders" && !json.Valid(e.Line) {
			t.Errorf("no JSON: %s", e.Line)
		}
	}
	if err := l.plantWord("late", 9_999); err == nil {
		t.Error("a word was planted into a line that had been made")
	}
}

func TestLogLinesAllocateNothing(t *testing.T) {
	for name, corpus := range map[string]string{"built in": "", "corpus": writeCorpus(t)} {
		l := mustLogLines(t, 5, corpus)
		var e Line
		for range 2_000 {
			l.Next(&e)
		}
		if n := testing.AllocsPerRun(1_000, func() { l.Next(&e) }); n != 0 {
			t.Errorf("%s: %v allocations a line", name, n)
		}
	}
}

func TestLogChoice(t *testing.T) {
	for _, weights := range [][]float64{{1}, {1, 1}, {97, 3}, {1000, 1, 1}, {1, 1000}, {3, 2, 1, 0.001, 2}} {
		share := make([]int, len(weights))
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		for _, i := range newLogChoice(weights) {
			share[i]++
		}
		for i, w := range weights {
			if want := w / sum * 256; share[i] < 1 || math.Abs(float64(share[i])-want) > 3 {
				t.Errorf("%v: %d has %d of 256, want %.1f", weights, i, share[i], want)
			}
		}
	}
}

// The clock writes what the standard library writes.
func TestLogClock(t *testing.T) {
	var c logClock
	for _, at := range []int64{logStart, logStart + 1, 951_827_696_123_456_789, 1_798_761_599_999_999_999, 1_800_000_000_000_000_000} {
		c.set(at)
		for layout, std := range map[string]string{
			"Y-m-d H:M:S.9": "2006-01-02 15:04:05.000000000", "Y-m-dTH:M:S,3": "2006-01-02T15:04:05,000",
			"a b _ H:M:S Y": "Mon Jan _2 15:04:05 2006", "y/m/d H:M:S": "06/01/02 15:04:05", "d/b/Y": "02/Jan/2006", "ymd HMS.1": "060102 150405.0",
		} {
			if got, want := string(c.append(nil, []byte(layout))), time.Unix(0, at).UTC().Format(std); got != want {
				t.Errorf("%d in the layout %q is %q, want %q", at, layout, got, want)
			}
		}
	}
}

func TestLogTemplatesRefuse(t *testing.T) {
	for _, line := range []string{
		"<", "a <time:Y", "<nothing>", "<int:5>", "<int:7-5>", "<size:>", "<ms:a-b>", "<id:1>", "<id:1:0>", "<id:1:21>", "<hex:1:33>",
		"<ip:4>", "<port>", "<of:words>",
	} {
		if _, err := new(logBuilder).parse(line); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

func BenchmarkLogLines(b *testing.B) {
	for _, kind := range []string{"builtin", "corpus"} {
		b.Run("kind="+kind, func(b *testing.B) {
			corpus := ""
			if kind == "corpus" {
				corpus = writeCorpus(b)
			}
			l := mustLogLines(b, 1, corpus)
			var e Line
			size := 0
			b.ReportAllocs()
			for b.Loop() {
				l.Next(&e)
				size += len(e.Line)
			}
			b.ReportMetric(float64(size)/float64(b.N), "B/line")
		})
	}
}
