package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore"
)

// The bytes of each value of a label, and the lines of each minute, are sums that
// need no line.
func ExampleStore_Aggregate() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{LateWindow: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	noon := time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)
	for i, app := range []string{"api", "api", "db"} {
		err := s.Append(ctx, logstore.Batch{{
			Labels: logstore.MustLabels("app", app, "host", fmt.Sprint(i)),
			Entries: []logstore.Entry{
				{Time: noon.UnixNano(), Line: []byte("started")},
				{Time: noon.Add(90 * time.Second).UnixNano(), Line: []byte("ready")},
			},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}
	volumes, err := s.Aggregate(ctx, logstore.Query{}, logstore.Aggregation{By: []string{"app"}, Top: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range volumes {
		entries, bytes := g.Total()
		fmt.Println(g.Labels, entries, "lines,", bytes, "bytes")
	}
	minutes, err := s.Aggregate(ctx, logstore.Query{Filter: logstore.Contains("e")}, logstore.Aggregation{Step: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range minutes[0].Buckets {
		fmt.Println(time.Unix(0, b.Start).UTC().Format("15:04"), b.Entries)
	}
	// Output:
	// {app="api"} 4 lines, 24 bytes
	// {app="db"} 2 lines, 12 bytes
	// 12:00 3
	// 12:01 3
}

// A slowest is a Folder that finds the longest of the durations in the lines.
type slowest struct{ ms int }

func (s *slowest) Fold(r logstore.Result) error {
	if _, text, ok := strings.Cut(string(r.Line), "took="); ok {
		ms, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		s.ms = max(s.ms, ms)
	}
	return nil
}

// Numbers in lines are summed up where the lines are read, by several goroutines.
func ExampleStore_Fold() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx, now := context.Background(), time.Now().UnixNano()
	st := logstore.Stream{Labels: logstore.MustLabels("app", "api")}
	for i, ms := range []int{3, 70, 12} {
		st.Entries = append(st.Entries, logstore.Entry{Time: now + int64(i), Line: fmt.Append(nil, "GET / took=", ms)})
	}
	if err := s.Append(ctx, logstore.Batch{st}); err != nil {
		log.Fatal(err)
	}
	var parts []*slowest
	err = s.Fold(ctx, logstore.Query{Filter: logstore.Contains("took=")}, func(charge func(int64) error) logstore.Folder {
		parts = append(parts, new(slowest)) // a few bytes: nothing to charge
		return parts[len(parts)-1]
	})
	if err != nil {
		log.Fatal(err)
	}
	most := 0
	for _, p := range parts {
		most = max(most, p.ms)
	}
	fmt.Println(most, "ms")
	// Output:
	// 70 ms
}

// A page of the values of a label, of the last hour.
func ExampleStore_LabelValues() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx, now := context.Background(), time.Now()
	for _, app := range []string{"web", "db", "api", "cron"} {
		line := logstore.Entry{Time: now.UnixNano(), Line: []byte("started")}
		if err := s.Append(ctx, logstore.Batch{{Labels: logstore.MustLabels("app", app), Entries: []logstore.Entry{line}}}); err != nil {
			log.Fatal(err)
		}
	}
	values, err := s.LabelValues(ctx, "app", logstore.Query{From: now.Add(-time.Hour).UnixNano(), Limit: 3})
	more := errors.Is(err, logstore.ErrMore)
	if err != nil && !more {
		log.Fatal(err)
	}
	fmt.Println(values, "and others:", more)
	// Output:
	// [api cron db] and others: true
}
