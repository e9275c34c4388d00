package logs

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/stele-go/stele/logstore"
)

// Structured makes lines of requests in JSON or in logfmt, in a few streams. One of every
// StructuredOneOf lines has the status 500, the others less, evenly spread.
type Structured struct {
	json bool
	rng  *rand.Rand
	n    int64
	now  int64
	line []byte
}

// StructuredOneOf is how many lines there are for each with the status 500.
const StructuredOneOf = 1000

// structuredStreams is how many streams have the lines in turn.
const structuredStreams = 8

// NewStructured returns lines that are the same ones for the same seed.
func NewStructured(seed uint64, json bool) *Structured {
	return &Structured{json: json, rng: rand.New(rand.NewPCG(seed, 0x57a7)), now: logStart}
}

// Labels returns the labels of the streams, by Line.Stream.
func (s *Structured) Labels() []logstore.Labels {
	app := "logfmt"
	if s.json {
		app = "json"
	}
	list := make([]logstore.Labels, structuredStreams)
	for i := range list {
		list[i] = logstore.MustLabels("app", app, "pod", "pod-"+strconv.Itoa(i))
	}
	return list
}

var (
	statuses = []string{"200", "200", "200", "200", "201", "204", "301", "304", "400", "404"}
	methods  = []string{"GET", "GET", "GET", "POST", "PUT", "DELETE"}
	paths    = []string{"/api/v1/items", "/api/v1/users", "/healthz", "/api/v1/orders", "/static/app.js", "/api/v2/search"}
)

// Next stores the next line in l.
func (s *Structured) Next(l *Line) {
	s.n++
	s.now += 400_000 + s.rng.Int64N(200_000)
	pick := func(from []string) string { return from[s.rng.IntN(len(from))] }
	status, level := pick(statuses), "info"
	if s.n%StructuredOneOf == StructuredOneOf/2 {
		status, level = "500", "error"
	}
	b := s.line[:0]
	field := func(name, value string, quoted bool) {
		switch {
		case s.json && len(b) > 1:
			b = append(b, ',')
		case !s.json && len(b) > 0:
			b = append(b, ' ')
		}
		if s.json {
			b = append(append(append(b, '"'), name...), '"', ':')
		} else {
			b = append(append(b, name...), '=')
		}
		if s.json && quoted {
			b = append(append(append(b, '"'), value...), '"')
		} else {
			b = append(b, value...)
		}
	}
	if s.json {
		b = append(b, '{')
	}
	field("ts", time.Unix(0, s.now).UTC().Format("2006-01-02T15:04:05.000Z"), true)
	field("level", level, true)
	field("method", pick(methods), true)
	field("path", pick(paths)+"/"+strconv.Itoa(s.rng.IntN(100_000)), true)
	field("status", status, false)
	field("bytes", strconv.Itoa(s.rng.IntN(1<<16)), false)
	field("took_ms", strconv.Itoa(s.rng.IntN(900)), false)
	field("trace", strconv.FormatUint(s.rng.Uint64(), 16), true)
	if s.json {
		b = append(b, '}')
	}
	s.line = b
	l.Stream, l.Time, l.Line = int(s.n%structuredStreams), s.now, b
}
