package logs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
)

// rareOf is the number of rare words.
const rareOf = 100

// rareEach is the number of lines that have a rare word, for each of the words.
const rareEach = 3

// rareWordOf returns the word of number i, counted modulo the number of words.
func rareWordOf(i int) string { return fmt.Sprintf("stelemark%03d", i%rareOf) }

// rareWords returns an iterator over the planted words and, for each, the number of
// a line, from 0 to lines-1, that has it.
func rareWords(lines int64) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		rng := rand.New(rand.NewPCG(1, 2))
		taken := map[int64]bool{}
		for i := range rareOf * rareEach {
			at := rng.Int64N(lines)
			for taken[at] {
				at = rng.Int64N(lines)
			}
			taken[at] = true
			if !yield(rareWordOf(i/rareEach), at) {
				return
			}
		}
	}
}

// What the store does while it is asked.
const (
	logIdle      = "idle"
	logAppending = "appending"
)

// Lines appended meanwhile: 20,000 a second.
const (
	meanwhileLines = 100
	meanwhileEvery = 5 * time.Millisecond
)

// logLast is how many of the last lines are asked for.
const logLast = 100

// logScan is the way without an index.
const logScan = "scan of a file"

// A question is asked in several ways, which all give the same answer, a number of
// lines. Only the file that is scanned lacks the lines that are appended meanwhile.
type question struct {
	name, text string // of the experiment, and in words
	ways       []job.Way[ask]
}

// An ask asks the question of operation i, and returns how many lines the answer has.
type ask func(a *asking, i int64) (lines int64, err error)

// by is a way of asking a question. Nothing is written.
func by(name, doc string, q ask) job.Way[ask] {
	return job.Way[ask]{Name: name, Doc: doc, Promise: job.NothingWritten(), Open: job.Fixed(q)}
}

// An asking has what questions are asked of.
type asking struct {
	ctx    context.Context
	lines  *logFile
	store  *logstore.Store
	common string // a word that many lines have
}

func (a *asking) query(q logstore.Query) (int64, error) {
	n, _, err := find(a.ctx, a.store, q)
	return int64(n), err
}

// count counts the lines that match, by minutes.
func (a *asking) count(filter logstore.Filter) (n int64, err error) {
	counts, err := a.store.Count(a.ctx, logstore.Query{Filter: filter}, time.Minute)
	for _, c := range counts {
		for _, b := range c.Buckets {
			n += b.Entries
		}
	}
	return n, err
}

func (a *asking) stream(i int64) logstore.Labels {
	return a.lines.streams[i*7%int64(len(a.lines.streams))]
}

// A wordOf returns the word of operation i.
type wordOf func(a *asking, i int64) string

func rareWord(_ *asking, i int64) string { return rareWordOf(int(i)) }

func commonWord(a *asking, _ int64) string { return a.common }

func regexpOf(word string) logstore.Filter {
	return logstore.Regexp(regexp.MustCompile(word + `\b`))
}

// matches asks the store for the lines that a filter of the word matches.
func matches(filter func(word string) logstore.Filter, word wordOf) ask {
	return func(a *asking, i int64) (int64, error) {
		return a.query(logstore.Query{Filter: filter(word(a, i))})
	}
}

// scanFor looks for the word in every line of the file.
func scanFor(word wordOf) job.Way[ask] {
	return by(logScan, "every line of a file is looked at", func(a *asking, i int64) (n int64, err error) {
		w := []byte(word(a, i))
		err = a.lines.scan(false, func(_ uint32, line []byte) bool {
			if bytes.Contains(line, w) {
				n++
			}
			return true
		})
		return n, err
	})
}

// scanBack reads the file from its end until it has logLast lines of wanted streams.
func scanBack(wanted func(a *asking, i int64) func(stream uint32) bool) job.Way[ask] {
	return by(logScan, "a file is read from its end on", func(a *asking, i int64) (n int64, err error) {
		of := wanted(a, i)
		err = a.lines.scan(true, func(stream uint32, _ []byte) bool {
			if of(stream) {
				n++
			}
			return n < logLast
		})
		return n, err
	})
}

func questions() []question {
	return []question{
		{"rare-word", "which lines have a word that three of them have", []job.Way[ask]{
			scanFor(rareWord),
			by("Word", "a query with the filter Word", matches(logstore.Word, rareWord)),
			by("Contains", "a query with the filter Contains", matches(logstore.Contains, rareWord)),
			by("Regexp", "a query with a regular expression of the word", matches(regexpOf, rareWord)),
		}},
		{"common-word", "which lines have a word that many have", []job.Way[ask]{
			scanFor(commonWord),
			by("Contains", "a query with the filter Contains", matches(logstore.Contains, commonWord)),
		}},
		{"last-of-a-stream", "what are the last 100 lines of a stream", []job.Way[ask]{
			scanBack(func(a *asking, i int64) func(uint32) bool {
				want := a.stream(i)
				return func(s uint32) bool { return a.lines.streams[s] == want }
			}),
			by("Query", "Backward, Limit 100, the stream's labels", func(a *asking, i int64) (int64, error) { return a.query(lastOf(a.stream(i), logLast)) }),
		}},
		{"last-of-all", "what are the last 100 lines", []job.Way[ask]{
			scanBack(func(*asking, int64) func(uint32) bool { return func(uint32) bool { return true } }),
			by("Query", "Backward, Limit 100", func(a *asking, _ int64) (int64, error) {
				return a.query(logstore.Query{Order: logstore.Backward, Limit: logLast})
			}),
		}},
		{"counts", "how many lines are there in each minute, by stream, with a common word", []job.Way[ask]{
			scanFor(commonWord),
			by("Count", "by minutes, with the filter Contains", func(a *asking, _ int64) (int64, error) { return a.count(logstore.Contains(a.common)) }),
		}},
		{"total", "how many lines are there in each minute, by stream", []job.Way[ask]{
			by(logScan, "every line of a file is looked at", func(a *asking, _ int64) (n int64, err error) {
				err = a.lines.scan(false, func(uint32, []byte) bool { n++; return true })
				return n, err
			}),
			by("Count", "by minutes", func(a *asking, _ int64) (int64, error) { return a.count(nil) }),
		}},
	}
}

// queries is every question put to a store that is idle, or appended to.
func (l logSuite) queries(state string) []lab.Experiment {
	var list []lab.Experiment
	for _, q := range questions() {
		e := l.experiment(q.name, run.Params{"store": state})
		e.Question = fmt.Sprintf("How long does it take to say %s, in a store that is idle, and while 20,000 lines a second are appended?", q.text)
		e.Op = fmt.Sprintf("one question, of %d lines of %s streams", l.lines(), l.from.howMany())
		e.Stateless = true
		q.ways[0].Baseline = true
		j := job.Job[ask]{Experiment: e, Ways: q.ways, Run: l.runQueries}
		list = append(list, j.Build())
	}
	return list
}

func (l logSuite) runQueries(b *lab.B, _ job.Site, q ask) (err error) {
	lines, err := l.shared(b)
	if err != nil {
		return err
	}
	defer lines.Close() // nothing is written
	from, err := l.sealedStore(b, lines)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.Dir, "store")
	if err := copyStore(from, dir); err != nil {
		return err
	}
	s, err := logstore.Open(dir, logstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	<-s.Ready()
	a := &asking{ctx: b.Context(), lines: lines, store: s}
	if a.common, err = lines.commonWord(); err != nil {
		return err
	}
	if b.Params["store"] == logAppending {
		end, err := l.appendMeanwhile(s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	if _, err := q(a, 0); err != nil { // what the first one reads is in memory then
		return err
	}
	n := int64(0)
	for b.Loop() {
		found, err := q(a, b.I())
		if err != nil {
			return err
		}
		n += found
	}
	b.Report("lines_per_answer", float64(n)/float64(b.N))
	return nil
}

// sealedStore returns a store that all blocks share, with all lines in segments. Its
// log is small, because blocks copy it.
func (l logSuite) sealedStore(b *lab.B, lines *logFile) (string, error) {
	return b.Shared(fmt.Sprint("log-store-", l.lines()), func(dir string) (err error) {
		s, err := logstore.Open(dir, logstore.Options{Memory: 32 << 20, MinFree: 1})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := appendLines(b.Context(), s, lines); err != nil {
			return err
		}
		return s.Compact(b.Context())
	})
}

// appendLines appends all lines of a file.
func appendLines(ctx context.Context, s *logstore.Store, lines *logFile) error {
	r := lines.reader()
	for {
		batch, err := r.read(logChunk)
		if err == nil && len(batch) > 0 {
			err = s.Append(ctx, batch)
		}
		if err != nil || len(batch) == 0 {
			return err
		}
	}
}

// appendMeanwhile appends lines of now until end is called.
func (l logSuite) appendMeanwhile(s *logstore.Store) (end func() error, err error) {
	source, err := newLines(2, l.from)
	if err != nil {
		return nil, err
	}
	const batches = 50 // made before, and appended again and again with new times
	ready := make([]logstore.Batch, batches)
	labels := source.Labels()
	var e Line
	for i := range ready {
		for range meanwhileLines {
			source.Next(&e)
			ready[i] = append(ready[i], logstore.Stream{Labels: labels[e.Stream], Entries: []logstore.Entry{{Line: bytes.Clone(e.Line)}}})
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var failed error
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(meanwhileEvery)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			batch, now := ready[i%batches], time.Now().UnixNano()
			for j := range batch {
				batch[j].Entries[0].Time = now
			}
			if failed = s.Append(context.Background(), batch); failed != nil {
				return
			}
		}
	})
	return func() error {
		stop()
		all.Wait()
		return failed
	}, nil
}

// scan hands each line to see until that returns false; backward begins with
// the last.
func (l *logFile) scan(backward bool, see func(stream uint32, line []byte) bool) error {
	var chunk []byte
	var lines [][]byte // of the chunk, with their heads
	for i := range len(l.chunks) - 1 {
		if backward {
			i = len(l.chunks) - 2 - i
		}
		from, to := l.chunks[i], l.chunks[i+1]
		if int64(cap(chunk)) < to-from {
			chunk = make([]byte, (to-from)*5/4)
		}
		chunk = chunk[:to-from]
		if _, err := l.f.ReadAt(chunk, from); err != nil {
			return err
		}
		lines = lines[:0]
		streams, rest := chunkStreams(nil, chunk[4:])
		for len(rest) > 0 {
			n := logLineHead + int(binary.LittleEndian.Uint16(rest[10:]))
			lines, rest = append(lines, rest[:n]), rest[n:]
		}
		for j := range lines {
			if backward {
				j = len(lines) - 1 - j
			}
			p := lines[j]
			if !see(streams[binary.LittleEndian.Uint16(p[8:])], p[logLineHead:]) {
				return nil
			}
		}
	}
	return nil
}

// commonWord is the word of five letters or more that most of the first lines
// have.
func (l *logFile) commonWord() (string, error) {
	words := wordCount{}
	left := 10 * logChunk
	err := l.scan(false, func(_ uint32, line []byte) bool {
		words.add(line)
		left--
		return left > 0
	})
	most := words.most()
	if err == nil && most == "" {
		err = errors.New("the lines have no word of five letters")
	}
	return most, err
}

// A wordCount counts the words of five small letters or more.
type wordCount map[string]int

func (w wordCount) add(line []byte) {
	for word := range bytes.FieldsFuncSeq(line, func(r rune) bool { return r < 'a' || r > 'z' }) {
		if len(word) >= 5 {
			w[string(word)]++
		}
	}
}

// most returns the word that came most often, "" if there was no word.
func (w wordCount) most() (word string) {
	for one, n := range w {
		if word == "" || n > w[word] || n == w[word] && one < word {
			word = one
		}
	}
	return word
}

// copyStore makes a store of the files of another, which must not change. Segments
// never do: their files are shared where the file system has hard links.
func copyStore(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o777)
		case filepath.Dir(rel) == "segments":
			if os.Link(name, target) == nil {
				return nil
			}
		}
		return copyFile(name, target)
	})
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // nothing is written
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
