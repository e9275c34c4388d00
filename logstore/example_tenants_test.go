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

// The tenants of a server share a store. Each finds what is its own, and has limits
// that may change while the store is open.
func ExampleStore_Tenants() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	limits := map[string]logstore.TenantOptions{"blue": {MaxStreams: 1, MaxSources: 100, Retention: 7 * 24 * time.Hour}}
	s, err := logstore.Open(dir, logstore.Options{
		MaxTenants: 100,
		Tenants:    func(tenant string) logstore.TenantOptions { return limits[tenant] },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	for _, tenant := range []string{"blue", "green"} {
		for _, app := range []string{"api", "db"} {
			_, err := s.AppendWith(ctx, logstore.Batch{{
				Labels:  logstore.MustLabels("app", app),
				Entries: []logstore.Entry{{Time: time.Now().UnixNano(), Line: []byte("started")}},
			}}, logstore.AppendOptions{Tenant: tenant})
			if errors.Is(err, logstore.ErrTooManyTenants) {
				log.Fatal(err) // of the whole batch
			} else if err != nil {
				fmt.Println(tenant, app, errors.Is(err, logstore.ErrTooManyStreams))
			}
		}
	}
	for r, err := range s.Query(ctx, logstore.Query{Tenant: "blue"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v %s\n", r.Labels, r.Line)
	}
	tenants, err := s.Tenants(ctx, "", 100)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tenants {
		fmt.Printf("%s: %d entries, %d bytes of lines, %d streams, times in order: %t, %d bytes in segments\n", t.Name, t.Entries, t.Lines, t.Streams, t.MinTime <= t.MaxTime, t.SegmentBytes)
	}
	fmt.Println(s.Stats().Tenants, "tenants have entries in memory")
	// Output:
	// blue db true
	// {app="api"} started
	// blue: 1 entries, 7 bytes of lines, 1 streams, times in order: true, 0 bytes in segments
	// green: 2 entries, 14 bytes of lines, 2 streams, times in order: true, 0 bytes in segments
	// 2 tenants have entries in memory
}
