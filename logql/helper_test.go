package logql

import (
	"context"
	"fmt"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

// base is the time of the first line of the tests: a whole hour.
const base = int64(1_795_910_400) * 1e9

func second(n int) int64 { return base + int64(n)*1e9 }

// openStore returns an empty store.
func openStore(t testing.TB) *logstore.Store {
	t.Helper()
	s, err := logstore.Open(t.TempDir(), logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	<-s.Ready()
	return s
}

func add(t testing.TB, s *logstore.Store, labels logstore.Labels, entries ...logstore.Entry) {
	t.Helper()
	if err := s.Append(context.Background(), logstore.Batch{{Labels: labels, Entries: entries}}); err != nil {
		t.Fatal(err)
	}
}

// fill appends two minutes of three streams: JSON, logfmt with metadata, and plain text
// without the label app, which metadata have.
func fill(t testing.TB, s *logstore.Store) {
	t.Helper()
	var api, web, bare []logstore.Entry
	for i := range 120 {
		api = append(api, logstore.Entry{Time: second(i), Line: fmt.Appendf(nil, `{"status":%d,"took":"%dms","path":"/orders/%d"}`, 200+100*(i%4), i, i%5)})
		web = append(web, logstore.Entry{Time: second(i), Line: fmt.Appendf(nil, `level=%s msg="request %d" size=%d`, []string{"info", "error"}[i%2], i, i*10),
			Metadata: logstore.MustLabels("trace", fmt.Sprint("t", i%3))})
		bare = append(bare, logstore.Entry{Time: second(i), Line: fmt.Appendf(nil, "plain line %d", i), Metadata: logstore.MustLabels("app", "cron")})
	}
	add(t, s, logstore.MustLabels("app", "api", "env", "prod"), api...)
	add(t, s, logstore.MustLabels("app", "web", "env", "prod"), web...)
	add(t, s, logstore.MustLabels("env", "prod", "job", "bare"), bare...)
}
