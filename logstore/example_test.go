package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/logstore"
)

func Example() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	now := time.Now().UnixNano()
	err = s.Append(ctx, logstore.Batch{
		{Labels: logstore.MustLabels("app", "api", "level", "info"), Entries: []logstore.Entry{
			{Time: now, Line: []byte("GET /index.html 200")},
			{Time: now + 1, Line: []byte("GET /favicon.ico 404")},
		}},
		{Labels: logstore.MustLabels("app", "db", "level", "info"), Entries: []logstore.Entry{
			{Time: now, Line: []byte("checkpoint took 12 ms")},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	// From here on the lines survive a power cut, and are found.
	for f, err := range s.Query(ctx, logstore.Query{Order: logstore.Backward, Limit: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", f.Labels, f.Line)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {app="api", level="info"} GET /favicon.ico 404
	// {app="db", level="info"} checkpoint took 12 ms
}

// Rejected entries are reported one by one; the others are kept.
func ExampleStore_Append() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{MaxLine: 10})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UnixNano()
	err = s.Append(context.Background(), logstore.Batch{{
		Labels: logstore.MustLabels("app", "api"),
		Entries: []logstore.Entry{
			{Time: now, Line: []byte("short")},
			{Time: now, Line: []byte("longer than ten bytes")},
		},
	}})
	var r *logstore.RejectedError
	if errors.As(err, &r) {
		fmt.Println(r.Accepted, "kept;", r.Rejected[0].Err())
	}
	// Output:
	// 1 kept; line is too long: 21 bytes; want at most 10 (Options.MaxLine)
}

// A segment was overwritten while the store was closed.
func ExampleStore_Report() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	batch := logstore.Batch{{
		Labels:  logstore.MustLabels("app", "api"),
		Entries: []logstore.Entry{{Time: time.Now().UnixNano(), Line: []byte("a line")}},
	}}
	if err := errors.Join(s.Append(ctx, batch), s.Seal(ctx), s.Close()); err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if err == nil {
		err = os.WriteFile(files[0], make([]byte, 5000), 0o666)
	}
	if err != nil {
		log.Fatal(err)
	}

	s, err = logstore.Open(dir, logstore.Options{
		Events: func(e logstore.Event) { // logs or counts it
			_ = e.String()
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, e := range s.Report().Events {
		fmt.Printf("%v: positions %d to %d\n", e.Kind, e.After+1, e.Upto)
	}
	// Output:
	// damage: positions 1 to 2
}
