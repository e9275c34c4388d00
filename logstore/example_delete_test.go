package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/stele-go/stele/logstore"
)

// Entries of one stream in one hour are deleted.
func ExampleStore_Delete() {
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
	for i := range int64(4) {
		st.Entries = append(st.Entries, logstore.Entry{Time: i * int64(time.Hour), Line: fmt.Appendf(nil, "hour %d", i)})
	}
	if err := s.Append(ctx, logstore.Batch{st}); err != nil {
		log.Fatal(err)
	}

	app, err := logstore.Match("app", logstore.Equal, "api")
	if err != nil {
		log.Fatal(err)
	}
	position, err := s.Delete(ctx, logstore.Deletion{
		Selector: logstore.Selector{app},
		From:     int64(time.Hour),
		To:       int64(2 * time.Hour),
	})
	if errors.Is(err, logstore.ErrDeletions) {
		err = s.Compact(ctx) // and once more
	}
	if err != nil {
		log.Fatal(err)
	}
	for f, err := range s.Query(ctx, logstore.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", f.Line)
	}
	if err := s.Seal(ctx); err != nil {
		log.Fatal(err)
	}
	for _, d := range s.Deletions() {
		fmt.Println(d.Selector, time.Since(d.Time) < time.Hour, d.Position == position, d.Segments, d.Bytes > 0)
	}
	if err := s.Compact(ctx); err != nil {
		log.Fatal(err)
	}
	stats := s.Stats()
	fmt.Println(stats.Deletions, "pending,", stats.DeletedEntries, "entry of", stats.DeletedBytes, "bytes is gone")
	// Output:
	// hour 0
	// hour 2
	// hour 3
	// {app="api"} true true 1 true
	// 0 pending, 1 entry of 6 bytes is gone
}
