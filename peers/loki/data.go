package loki

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Base is the time of the first entry: 2026-03-01T10:00:00Z, in nanoseconds.
const Base int64 = 1772359200e9

// An Entry is a line of the data.
type Entry struct {
	Stream   map[string]string `json:"stream"`
	Time     int64             `json:"time"`
	Line     string            `json:"line"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// A source makes lines of one stream.
type source struct {
	labels string // app, env, host, and others: a=b,c=d
	n      int
	line   func(r *rand.Rand, i int) (line string, metadata map[string]string)
}

// Data returns the entries, by time: an hour of streams that have what a query language
// has to cope with. It is the same each time.
func Data() []Entry {
	var all []Entry
	for i, s := range sources {
		r := rand.New(rand.NewPCG(14, uint64(i)))
		labels := make(map[string]string)
		for pair := range strings.SplitSeq(s.labels, ",") {
			name, value, _ := strings.Cut(pair, "=")
			labels[name] = value
		}
		gap := int64(time.Hour) / int64(s.n)
		for j := range s.n {
			line, metadata := s.line(r, j)
			// No two streams have entries at the same time, or an order that Loki leaves
			// open would decide what is within a limit.
			at := Base + int64(j)*gap/1e6*1e6 + r.Int64N(gap)/1e6*1e6 + int64(i)*1000
			all = append(all, Entry{labels, at, line, metadata})
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return int(a.Time - b.Time) })
	return unequal(all)
}

// unequal moves an entry that has the time and the line of one before it, in the same
// stream, by a nanosecond: Loki drops such an entry.
func unequal(all []Entry) []Entry {
	seen := make(map[string]bool)
	for i := range all {
		key := func() string { return fmt.Sprint(all[i].Stream, all[i].Time, all[i].Line) }
		for seen[key()] {
			all[i].Time++
		}
		seen[key()] = true
	}
	return all
}

// PushBody returns the entries as the body of a push in JSON.
func PushBody(entries []Entry) ([]byte, error) {
	type stream struct {
		Stream map[string]string `json:"stream"`
		Values [][]any           `json:"values"`
	}
	var body struct {
		Streams []*stream `json:"streams"`
	}
	of := make(map[string]*stream)
	for _, e := range entries {
		key := fmt.Sprint(e.Stream)
		s := of[key]
		if s == nil {
			s = &stream{Stream: e.Stream}
			of[key] = s
			body.Streams = append(body.Streams, s)
		}
		value := []any{fmt.Sprint(e.Time), e.Line}
		if e.Metadata != nil {
			value = append(value, e.Metadata)
		}
		s.Values = append(s.Values, value)
	}
	return json.Marshal(body)
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

var (
	paths  = []string{"/", "/api/users", "/api/orders", "/api/orders/17", "/login", "/static/app.js", "/search?q=a+b", "/café/ä"}
	levels = []string{"debug", "info", "info", "info", "warn", "error"}
)

func ipv4(r *rand.Rand) string {
	return one(r, "10.0.0.", "10.0.1.", "192.168.4.", "172.16.9.") + fmt.Sprint(1+r.IntN(12))
}

func ipv6(r *rand.Rand) string {
	return one(r, "2001:db8::", "2001:db8:1::", "fe80::", "::ffff:10.0.0.") + fmt.Sprint(1+r.IntN(9))
}

func status(r *rand.Rand) int { return one(r, 200, 200, 200, 200, 201, 301, 404, 500, 503) }

func took(r *rand.Rand) string {
	return one(r, fmt.Sprintf("%dms", 1+r.IntN(900)), fmt.Sprintf("%.2fs", r.Float64()*3), fmt.Sprintf("%dus", r.IntN(1000)), "1m3s")
}

func size(r *rand.Rand) string {
	return one(r, fmt.Sprintf("%dB", r.IntN(900)), fmt.Sprintf("%dKB", 1+r.IntN(90)), fmt.Sprintf("%.1fMB", r.Float64()*4), fmt.Sprintf("%dKiB", 1+r.IntN(50)))
}
