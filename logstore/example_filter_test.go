package logstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/stele-go/stele/logstore"
)

// A slowMatcher matches lines that took longer than the limit of their stream.
type slowMatcher struct{ limit int }

func (m *slowMatcher) Stream(labels logstore.Labels) bool {
	m.limit = map[string]int{"api": 100, "batch": 1000}[labels.Get("app")]
	return m.limit > 0
}

func (m *slowMatcher) Match(_ int64, line []byte, _ logstore.Labels) bool {
	_, took, _ := bytes.Cut(line, []byte("took="))
	n, err := strconv.Atoi(string(took))
	return err == nil && n > m.limit
}

// An EntryFilter runs in the goroutines that read, on the lines that the index and the
// filters beside it leave.
func ExampleEntryFilter() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{LateWindow: -1})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for i, app := range []string{"api", "batch", "other"} {
		err := s.Append(context.Background(), logstore.Batch{{
			Labels:  logstore.MustLabels("app", app),
			Entries: []logstore.Entry{{Time: int64(i), Line: []byte("took=50")}, {Time: int64(i), Line: []byte("took=500")}},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}
	q := logstore.Query{Filter: logstore.All(
		logstore.Contains("took="),
		logstore.EntryFilter(func() logstore.EntryMatcher { return new(slowMatcher) }),
	)}
	for r, err := range s.Query(context.Background(), q) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v %s\n", r.Labels, r.Line)
	}
	// Output:
	// {app="api"} took=500
}
