package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/stele-go/stele/logstore"
)

// What a query took, and a limit of what it may take.
func ExampleQueryStats() {
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
	st := logstore.Stream{Labels: logstore.MustLabels("app", "api")}
	for i := range 1000 {
		st.Entries = append(st.Entries, logstore.Entry{Time: int64(i), Line: fmt.Appendf(nil, "request %d", i)})
	}
	if err := errors.Join(s.Append(ctx, logstore.Batch{st}), s.Seal(ctx)); err != nil {
		log.Fatal(err)
	}

	stats := new(logstore.QueryStats)
	q := logstore.Query{Filter: logstore.Word("7"), Stats: stats, MaxBytes: 1 << 20}
	for f, err := range s.Query(ctx, q) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", f.Line)
	}
	b := stats.Blocks
	fmt.Println("of", b.Considered, "blocks", b.Read, "read,", b.Filter, "ruled out by filters,", b.Left, "not needed")
	fmt.Println(stats.Lines, "lines,", stats.Matched, "matched")

	q.MaxBytes = 100
	var limit *logstore.LimitError
	for _, err := range s.Query(ctx, q) {
		fmt.Println(errors.As(err, &limit), limit.Limit)
	}
	// Output:
	// request 7
	// of 1 blocks 1 read, 0 ruled out by filters, 0 not needed
	// 1000 lines, 1 matched
	// true Query.MaxBytes
}

// A page of entries, and the next one: the cursor travels as text.
func ExampleCursor() {
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
	st := logstore.Stream{Labels: logstore.MustLabels("app", "api")}
	for i := range 5 {
		st.Entries = append(st.Entries, logstore.Entry{Time: 1, Line: fmt.Appendf(nil, "request %d", i)})
	}
	if err := s.Append(ctx, logstore.Batch{st}); err != nil {
		log.Fatal(err)
	}

	page := func(after string) (last string) {
		q := logstore.Query{Order: logstore.Backward, Limit: 2, Cursors: true}
		if after != "" {
			if q.After, err = logstore.ParseCursor(after); err != nil {
				log.Fatal(err)
			}
		}
		for f, err := range s.Query(ctx, q) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%s\n", f.Line)
			last = f.Cursor().String()
		}
		return last
	}
	page(page(""))
	// Output:
	// request 4
	// request 3
	// request 2
	// request 1
}

// What is there, and then what comes, each entry once.
func ExampleStore_Follow() {
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
	line := func(text string) logstore.Batch {
		return logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{{Time: 1, Line: []byte(text)}}}}
	}
	if err := s.Append(ctx, line("old")); err != nil {
		log.Fatal(err)
	}
	for f, err := range s.Follow(ctx, logstore.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", f.Line)
		if string(f.Line) == "new" {
			break
		}
		if err := s.Append(ctx, line("new")); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// old
	// new
}
