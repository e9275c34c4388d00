package logstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A shipper of a file names the place of each line in it. After a crash, of its own or
// of the store, it begins wherever it knows that all before was acknowledged.
func ExampleStore_AppendWith() {
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
	batch := func(lines ...string) logstore.Batch {
		b := logstore.Batch{{Labels: logstore.MustLabels("app", "api")}}
		for _, line := range lines {
			b[0].Entries = append(b[0].Entries, logstore.Entry{Time: 1, Line: []byte(line)})
		}
		return b
	}
	ctx := context.Background()
	for _, from := range []uint64{0, 1} {
		a, err := s.AppendWith(ctx, batch("one", "two", "three"), logstore.AppendOptions{Source: "host-1:/var/log/api", Offset: from})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Kept, "kept,", a.Known, "known")
	}
	// Without an order of its own, a batch gets a random key for all its attempts.
	var key [16]byte
	rand.Read(key[:])
	for {
		_, err := s.AppendWith(ctx, batch("four"), logstore.AppendOptions{Key: key})
		if err == nil {
			break
		}
		if !errors.Is(err, logstore.ErrUnsure) {
			log.Fatal(err)
		}
	}
	// Output:
	// 3 kept, 0 known
	// 1 kept, 2 known
}

// The offsets of a source may be what it has anyway: here the bytes of a tenant's file
// up to the end of each line.
func ExampleAppendOptions() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := logstore.Open(dir, logstore.Options{LateWindow: -1, KeyWindow: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	b := logstore.Batch{{Labels: logstore.MustLabels("app", "api"), Entries: []logstore.Entry{
		{Time: 1, Line: []byte("GET /")},
		{Time: 1, Line: []byte("GET /index.html")},
	}}}
	o := logstore.AppendOptions{Tenant: "customer-7", Source: "/var/log/api", Offsets: []uint64{6, 22}}
	first, err := s.AppendWith(context.Background(), b, o)
	if err != nil {
		log.Fatal(err)
	}
	again, err := s.AppendWith(context.Background(), b, o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Kept, again.Kept, again.Known, again.Last == first.Last)
	// Output:
	// 2 0 2 true
}
