package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/logstore"
)

// A lineSet has the lines of one system in memory, ready to be appended, and what is asked
// for in them.
type lineSet struct {
	batches []logstore.Batch
	lines   int64
	raw     int64 // bytes of the lines
	sum     uint64
	words   wordCount
	number  string // a part of one

	index map[logstore.Labels]int // of streams in the last batch
}

func newLineSet() *lineSet { return &lineSet{words: wordCount{}, index: map[logstore.Labels]int{}} }

// needleLines is in how many of the first lines needles are looked for.
const needleLines = 10 * logChunk

// add adds a line, which the set keeps.
func (s *lineSet) add(labels logstore.Labels, e logstore.Entry) {
	if s.lines%logChunk == 0 {
		s.batches = append(s.batches, nil)
		clear(s.index)
	}
	batch := &s.batches[len(s.batches)-1]
	i, ok := s.index[labels]
	if !ok {
		i = len(*batch)
		s.index[labels] = i
		*batch = append(*batch, logstore.Stream{Labels: labels})
	}
	(*batch)[i].Entries = append((*batch)[i].Entries, e)
	s.lines++
	s.raw += int64(len(e.Line))
	s.sum += sumOfEntry(e)
	if s.lines <= needleLines {
		s.words.add(e.Line)
		if n := partOfNumber(e.Line); n != "" {
			s.number = n
		}
	}
}

// sumOfEntry returns a hash of an entry, FNV-1a; those of all entries are added up.
func sumOfEntry(e logstore.Entry) uint64 {
	h := uint64(14695981039346656037) ^ uint64(e.Time)
	for _, c := range e.Line {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// partOfNumber returns five digits from within the first number of seven digits or more, ""
// if there is none.
func partOfNumber(line []byte) string {
	digits := 0
	for i, c := range line {
		if !isDigit(c) {
			digits = 0
		} else if digits++; digits == 7 {
			return string(line[i-5 : i])
		}
	}
	return ""
}

// system returns the lines of one system of the file.
func (l *logFile) system(name string) (*lineSet, error) {
	s := newLineSet()
	r := l.reader()
	for {
		b, err := r.read(logChunk)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			break
		}
		for _, stream := range b {
			if stream.Labels.Get("app") != name {
				continue
			}
			for _, e := range stream.Entries {
				e.Line = slices.Clone(e.Line)
				s.add(stream.Labels, e)
			}
		}
	}
	if s.lines == 0 {
		return nil, fmt.Errorf("suites: no lines of %s", strconv.Quote(name))
	}
	return s, nil
}

// codecFigures say what lines cost in a store with one codec.
type codecFigures struct {
	Lines      int64
	Raw, Bytes float64            // of lines, and of the segments that have them, a line
	CPU        float64            // us a line, until sealed and merged
	Asked      map[string]float64 // ms, by the name of a question; those without a needle are missing
}

// measure stores the lines in dir, which must not exist, with a codec, asks codecQuestions,
// and checks that the lines come back.
func (s *lineSet) measure(ctx context.Context, dir string, codec logstore.Codec) (f codecFigures, err error) {
	store, err := s.fill(ctx, dir, codec, &f)
	if err != nil {
		return f, err
	}
	return f, errors.Join(s.look(ctx, store, dir, &f), store.Close())
}

// fill stores the lines in dir, seals and compacts them, and sets f.CPU. The store stays open.
func (s *lineSet) fill(ctx context.Context, dir string, codec logstore.Codec, f *codecFigures) (_ *logstore.Store, err error) {
	store, err := logstore.Open(dir, logstore.Options{Codec: codec, LateWindow: -1, FutureWindow: -1})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	before, err := procstat.SelfUsage()
	if err != nil {
		return nil, err
	}
	for _, b := range s.batches {
		if err := store.Append(ctx, b); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(store.Seal(ctx), store.Compact(ctx)); err != nil {
		return nil, err
	}
	after, err := procstat.SelfUsage()
	f.CPU = float64(after.User+after.System-before.User-before.System) / 1e3 / float64(s.lines)
	return store, err
}

// look sets the other figures of a store that fill has filled.
func (s *lineSet) look(ctx context.Context, store *logstore.Store, dir string, f *codecFigures) error {
	f.Lines, f.Raw = s.lines, float64(s.raw)/float64(s.lines)
	_, size, err := dirSize(filepath.Join(dir, "segments"))
	if err != nil {
		return err
	}
	f.Bytes = float64(size) / float64(s.lines)
	if err := s.check(ctx, store); err != nil {
		return err
	}
	f.Asked, err = s.ask(ctx, store)
	return err
}

// check reads all lines back.
func (s *lineSet) check(ctx context.Context, store *logstore.Store) error {
	var n int64
	var sum uint64
	for e, err := range store.Query(ctx, logstore.Query{}) {
		if err != nil {
			return err
		}
		n++
		sum += sumOfEntry(e.Entry)
	}
	if n != s.lines || sum != s.sum {
		return fmt.Errorf("suites: %d lines with the sum %#x were read back; want %d with %#x", n, sum, s.lines, s.sum)
	}
	return nil
}

// codecQuestions are asked of the lines of one system.
var codecQuestions = []struct {
	name   string
	needle func(s *lineSet) string // "" if there is none; nil if none is needed
	ask    func(a *asking, needle string) (int64, error)
}{
	{"common_word", func(s *lineSet) string { return s.words.most() }, countContains},
	{"part_of_word", func(s *lineSet) string { w := s.words.most(); return w[min(1, len(w)):max(len(w)-1, 0)] }, countContains},
	{"part_of_number", func(s *lineSet) string { return s.number }, countContains},
	{"absent", func(*lineSet) string { return "qzxvjwkq" }, countContains},
	{"last", nil, func(a *asking, _ string) (int64, error) {
		return a.query(logstore.Query{Order: logstore.Backward, Limit: logLast})
	}},
	{"scan", nil, func(a *asking, _ string) (int64, error) { return a.query(logstore.Query{}) }},
}

func countContains(a *asking, needle string) (int64, error) {
	return a.count(logstore.Contains(needle))
}

// askEach is how often each of codecQuestions is asked, after once.
const askEach = 5

// ask returns the median time of each question in ms.
func (s *lineSet) ask(ctx context.Context, store *logstore.Store) (map[string]float64, error) {
	asked := map[string]float64{}
	a := &asking{ctx: ctx, store: store}
	for _, q := range codecQuestions {
		needle := ""
		if q.needle != nil {
			if needle = q.needle(s); needle == "" {
				continue
			}
		}
		took := make([]time.Duration, 0, askEach)
		for i := range askEach + 1 {
			begun := time.Now()
			if _, err := q.ask(a, needle); err != nil {
				return nil, fmt.Errorf("%s: %w", cmp.Or(needle, q.name), err)
			}
			if i > 0 {
				took = append(took, time.Since(begun))
			}
		}
		slices.Sort(took)
		asked[q.name] = float64(took[askEach/2]) / 1e6
	}
	return asked, nil
}
