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

// The log was lost. Open refuses the store; what is in segments can be read.
func ExampleOpenReadOnly() {
	dir := exampleStore()
	defer os.RemoveAll(dir)
	if err := os.RemoveAll(filepath.Join(dir, "wal")); err != nil {
		log.Fatal(err)
	}

	s, err := logstore.OpenReadOnly(dir, logstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for r, err := range s.Query(context.Background(), logstore.Query{}) {
		switch {
		case errors.Is(err, logstore.ErrIncomplete):
			fmt.Println("and perhaps more:", s.Report().Events[0].Reason != "")
		case err != nil:
			log.Println(err) // damage; the iteration goes on
		default:
			fmt.Printf("%s %s\n", r.Labels, r.Line)
		}
	}
	// Output:
	// {app="api"} a line in a segment
	// and perhaps more: true
}

func ExampleOpenSegments() {
	dir := exampleStore()
	defer os.RemoveAll(dir)
	files, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
	if err != nil {
		log.Fatal(err)
	}

	s, err := logstore.OpenSegments(logstore.Options{}, files...)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for r, err := range s.Query(context.Background(), logstore.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", r.Labels, r.Line)
	}
	// Output:
	// {app="api"} a line in a segment
}

// exampleStore makes a store with a line in a segment, and another in the log.
func exampleStore() (dir string) {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	s, err := logstore.Open(dir, logstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	batch := func(line string) logstore.Batch {
		return logstore.Batch{{
			Labels:  logstore.MustLabels("app", "api"),
			Entries: []logstore.Entry{{Time: time.Now().UnixNano(), Line: []byte(line)}},
		}}
	}
	ctx := context.Background()
	err = errors.Join(s.Append(ctx, batch("a line in a segment")), s.Seal(ctx), s.Append(ctx, batch("a line in the log")), s.Close())
	if err != nil {
		log.Fatal(err)
	}
	return dir
}
