package logstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A snapshot has what was acknowledged before it, and is a store of its own.
func ExampleStore_Snapshot() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "logstore")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(filepath.Join(dir, "store"), logstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	line := func(text string) {
		e := logstore.Entry{Time: time.Now().UnixNano(), Line: []byte(text)}
		if err := s.Append(ctx, logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{e}}}); err != nil {
			fmt.Println(err)
		}
	}
	line("before")
	if _, err := s.Snapshot(ctx, filepath.Join(dir, "copy")); err != nil {
		fmt.Println(err)
	}
	line("after")

	copied, err := logstore.Open(filepath.Join(dir, "copy"), logstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer copied.Close()
	<-copied.Ready()
	for f, err := range copied.Query(ctx, logstore.Query{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", f.Line)
	}
	// Output: before
}
