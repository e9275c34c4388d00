package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

func TestDelete(t *testing.T) {
	s := newDataServer(t, Options{})
	count := func() string {
		return result(t, get(s, "GET", "/loki/api/v1/query?"+values("query", `sum(count_over_time({app="web"}[1h]))`, "time", "1700000060")))
	}
	if got := count(); !strings.Contains(got, `"50"`) {
		t.Fatal(got)
	}
	w := get(s, "POST", "/loki/api/v1/delete?"+values("query", `{app="web"}`, "start", "1700000000", "end", "1700000009", "max_interval", "1h"))
	if w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := count(); !strings.Contains(got, `"40"`) {
		t.Errorf("after the deletion of 10 lines: %s", got)
	}
	var list []map[string]any
	read := func() {
		t.Helper()
		list = nil
		if err := json.Unmarshal(get(s, "GET", "/loki/api/v1/delete").Body.Bytes(), &list); err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
	}
	read()
	d := list[0]
	if d["query"] != `{app="web"}` || d["start_time"] != 1700000000.0 || d["end_time"] != 1700000009.0 || d["status"] != stateReceived {
		t.Errorf("listed as %v", d)
	}
	id := d["request_id"].(string)
	if w := get(s, "DELETE", "/loki/api/v1/delete?request_id=ffff"); w.Code != 404 {
		t.Errorf("to cancel another: %d %s", w.Code, w.Body)
	}
	if err := s.store.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the files have no such entries", func() bool { return len(s.store.Deletions()) == 0 })
	if read(); list[0]["status"] != stateProcessed || list[0]["request_id"] != id {
		t.Errorf("then listed as %v", list[0])
	}
	if w := get(s, "DELETE", "/loki/api/v1/delete?request_id="+id); w.Code != 400 || !strings.Contains(w.Body.String(), "cannot be cancelled") {
		t.Errorf("to cancel it: %d %s", w.Code, w.Body)
	}
}

// A deletion with line filters takes the lines that they let pass, and may be cancelled.
func TestDeleteLines(t *testing.T) {
	s := newDataServer(t, Options{})
	count := func() string {
		return result(t, get(s, "GET", "/loki/api/v1/query?"+values("query", `sum(count_over_time({app="web"}[1h]))`, "time", "1700000060")))
	}
	for query, left := range map[string]string{
		`{app="web"} |= "n=1" != "n=10"`:     `"40"`, // 1, 11 to 19
		`{app="web"} |~ "n=[0-4] "`:          `"45"`,
		`{app="web"} |= "n=7 " or "n=8 "`:    `"48"`,
		`{app="web"} |~ "n=7 " or "n=[89] "`: `"47"`,
		`{app="web"} !~ "n=7 " != "n=8 "`:    `"2"`,
		`{app="web"} |= "nothing"`:           `"50"`,
	} {
		w := get(s, "POST", "/loki/api/v1/delete?"+values("query", query, "start", "1700000000", "end", "1700000060"))
		if w.Code != 204 {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		if got := count(); !strings.Contains(got, left) {
			t.Errorf("%s: %s lines are left, want %s", query, got, left)
		}
		var list []map[string]any
		if err := json.Unmarshal(get(s, "GET", "/loki/api/v1/delete").Body.Bytes(), &list); err != nil || len(list) != 1 {
			t.Fatal(query, list, err)
		}
		if text := list[0]["query"].(string); !strings.Contains(query, " or ") && text != query {
			t.Errorf("%s is listed as %s", query, text)
		}
		if w := get(s, "DELETE", "/loki/api/v1/delete?"+values("request_id", list[0]["request_id"].(string))); w.Code != 204 {
			t.Fatalf("to cancel %s: %d %s", query, w.Code, w.Body)
		}
		if got := count(); !strings.Contains(got, `"50"`) {
			t.Errorf("%s: %s lines after it was cancelled", query, got)
		}
		if text := get(s, "GET", "/loki/api/v1/delete").Body.String(); text != "[]" {
			t.Errorf("%s: listed after it was cancelled: %s", query, text)
		}
	}
}

func TestDeleteRefusals(t *testing.T) {
	s := newDataServer(t, Options{})
	for _, c := range []struct {
		params []string
		want   string
	}{
		{[]string{"start", "1"}, "query not set"},
		{[]string{"query", `{app="web"}`}, "start time not set"},
		{[]string{"query", `{app="web"}`, "start", "x"}, "parameter start"},
		{[]string{"query", `{app="web"}`, "start", "9", "end", "8"}, "parameter end"},
		{[]string{"query", `{app="web"}`, "start", "9", "end", "9000000000"}, "parameter end"},
		{[]string{"query", `{app="web"}`, "start", "9", "max_interval", "x"}, "parameter max_interval"},
		{[]string{"query", `{app="web"} | json`, "start", "9"}, "want line filters"},
		{[]string{"query", `{app="web"} |> "<_> x"`, "start", "9"}, "want line filters"},
		{[]string{"query", `{app="web"} |= ip("10.0.0.1")`, "start", "9"}, "want line filters"},
		{[]string{"query", `{app="web"} |~ "("`, "start", "9"}, "parse error"},
		{[]string{"query", `{app="web"`, "start", "9"}, "parse error"},
		{[]string{"query", `vector(1)`, "start", "9"}, "only log selector"},
	} {
		w := get(s, "POST", "/loki/api/v1/delete?"+values(c.params...))
		if w.Code != 400 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%v: %d %s; want %s", c.params, w.Code, w.Body, c.want)
		}
	}
}

// The list of deletions is bounded, and that of one tenant has none of another.
func TestDeletionsAreBounded(t *testing.T) {
	var d deletions
	for i := range uint64(3 * keptDeletions) {
		err := d.add(func() []logstore.PendingDeletion { return nil }, func() (logstore.PendingDeletion, error) {
			return logstore.PendingDeletion{Deletion: logstore.Deletion{Tenant: []string{"a", "b"}[i%2]}, Position: i, Time: time.Unix(int64(i), 0)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pending := func() []logstore.PendingDeletion {
		if d.mu.TryLock() {
			t.Error("the list may change while the store is asked")
		}
		return []logstore.PendingDeletion{{Deletion: logstore.Deletion{Tenant: "a"}, Position: 0}}
	}
	a, b := d.of("a", pending), d.of("b", pending)
	if len(a) != keptDeletions/2+1 || len(b) != keptDeletions/2 || len(d.list) != keptDeletions+1 {
		t.Errorf("%d of a, %d of b, %d are kept", len(a), len(b), len(d.list))
	}
	if a[0].state != stateReceived || a[1].state != stateProcessed || a[1].Position >= a[2].Position {
		t.Errorf("%v", a[:3])
	}
}

// A request that comes while the store deletes or cancels is not told a wrong state: a deletion
// that is cancelled, or covered by a new one, is not processed.
func TestDeletionsChangeUnseen(t *testing.T) {
	s := newDataServer(t, Options{})
	d := &s.reads.deletions
	unseen := func() {
		t.Helper()
		if d.mu.TryLock() {
			t.Error("the deletions may be listed while the store changes them")
			d.mu.Unlock()
		}
	}
	del := func() (p logstore.PendingDeletion, err error) {
		p.Deletion = logstore.Deletion{Selector: logstore.Selector{{Name: "app", Value: "web"}}, From: 1, To: 2}
		p.Position, err = s.store.Delete(t.Context(), p.Deletion)
		unseen()
		return p, err
	}
	for range 2 {
		if err := d.add(s.store.Deletions, del); err != nil {
			t.Fatal(err)
		}
	}
	list := d.of("", s.store.Deletions)
	if len(list) != 2 || list[0].state != stateReceived {
		t.Fatalf("%+v", list)
	}
	last := list[1].Position
	err := d.cancel(last, func() error {
		defer unseen()
		return s.store.CancelDeletion(t.Context(), "", last)
	})
	if list := d.of("", s.store.Deletions); err != nil || len(list) != 0 {
		t.Errorf("%v, %+v", err, list)
	}
}

// While the log is replayed, a deletion waits, and so does one that is cancelled: neither
// keeps the others from being listed, and a client that leaves ends the wait.
func TestDeletionsAreListedDuringReplay(t *testing.T) {
	dir := t.TempDir()
	o := logstore.Options{Level: durability.Kill}
	open := func() *logstore.Store {
		store, err := logstore.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	batch := logstore.Batch{{Labels: logstore.MustLabels("app", "web"), Entries: []logstore.Entry{{Time: time.Now().UnixNano(), Line: []byte("a line")}}}}
	if _, err := store.AppendWith(t.Context(), batch, logstore.AppendOptions{Tenant: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	replaying := make(chan struct{})
	o.Tenants = func(string) (limits logstore.TenantOptions) { // the replay asks for those of a
		<-replaying
		return limits
	}
	store = open()
	defer store.Close()
	defer close(replaying)
	s, err := New(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	const target = "/loki/api/v1/delete?"
	var waiting sync.WaitGroup
	for _, r := range []*http.Request{
		httptest.NewRequestWithContext(ctx, "POST", target+values("query", `{app="web"}`, "start", "1", "end", "2"), nil),
		httptest.NewRequestWithContext(ctx, "DELETE", target+values("request_id", "1"), nil),
	} {
		r.Host = "localhost"
		waiting.Go(func() { s.ServeHTTP(httptest.NewRecorder(), r) })
	}
	await(t, "both wait", func() bool { return s.calls.count() == 2 })
	var listed atomic.Bool
	go func() {
		get(s, "GET", target)
		listed.Store(true)
	}()
	await(t, "the deletions are listed", listed.Load)
	leave()
	waiting.Wait()
}

// A deletion that matches nothing is one like others, as with Loki: it is accepted, listed,
// processed, and may be cancelled until then.
func TestDeleteNothing(t *testing.T) {
	s := newDataServer(t, Options{})
	queries := []string{`{app="nobody"}`, `{app="web", env="dev"}`, `{app="web"} |= "nothing"`}
	for _, query := range queries {
		for _, end := range []string{"1700000060", "1"} {
			w := get(s, "POST", "/loki/api/v1/delete?"+values("query", query, "start", "1", "end", end))
			if w.Code != 204 {
				t.Errorf("%s to %s: %d %s", query, end, w.Code, w.Body)
			}
		}
	}
	states := func(want string, n int) {
		t.Helper()
		if text := get(s, "GET", "/loki/api/v1/delete").Body.String(); strings.Count(text, `"status":"`+want+`"`) != n || strings.Count(text, `"status"`) != n {
			t.Errorf("%s; want %d, each %s", text, n, want)
		}
	}
	states(stateReceived, 2*len(queries))
	if w := get(s, "DELETE", "/loki/api/v1/delete?"+values("request_id", requestID(s.store.Deletions()[0].Position))); w.Code != 204 {
		t.Errorf("to cancel one: %d %s", w.Code, w.Body)
	}
	if err := s.store.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "no deletion is pending", func() bool { return len(s.store.Deletions()) == 0 })
	text := get(s, "GET", "/loki/api/v1/delete").Body.String()
	if n := strings.Count(text, `"status":"processed"`); n != strings.Count(text, `"status"`) || n == 0 {
		t.Errorf("then: %s", text)
	}
	if got := result(t, get(s, "GET", "/loki/api/v1/query?"+values("query", `sum(count_over_time({env=~".+"}[1h]))`, "time", "1700000060"))); !strings.Contains(got, `"102"`) {
		t.Errorf("then there are %s lines", got)
	}
}

// A deletion is pending as long as a later one that covers it: its entries are still in files. It
// is cancelled with that one, and not by itself.
func TestDeleteCovered(t *testing.T) {
	s := newDataServer(t, Options{})
	list := func() (states string, ids []string) {
		var list []map[string]any
		if err := json.Unmarshal(get(s, "GET", "/loki/api/v1/delete").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			states += " " + d["status"].(string)
			ids = append(ids, d["request_id"].(string))
		}
		return states, ids
	}
	post := func(query, end string) {
		t.Helper()
		if w := get(s, "POST", "/loki/api/v1/delete?"+values("query", query, "start", "1700000000", "end", end)); w.Code != 204 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for range 3 {
		post(`{app="web"} |= "n=1"`, "1700000009")
	}
	states, ids := list()
	if states != " received received received" {
		t.Fatalf("repeated: %s", states)
	}
	if w := get(s, "DELETE", "/loki/api/v1/delete?request_id="+ids[0]); w.Code != 400 || !strings.Contains(w.Body.String(), ids[2]) {
		t.Errorf("to cancel the first: %d %s", w.Code, w.Body)
	}
	if w := get(s, "DELETE", "/loki/api/v1/delete?request_id="+ids[2]); w.Code != 204 {
		t.Errorf("to cancel the last: %d %s", w.Code, w.Body)
	}
	if states, _ := list(); states != "" || len(s.reads.deletions.later) > 0 {
		t.Errorf("cancelled: %s, %v", states, s.reads.deletions.later)
	}
	post(`{app="web"} |= "n=1"`, "1700000009")
	post(`{app="web"} |= "n=2"`, "1700000009")
	post(`{app="web"} |= "n=1"`, "1700000010")
	if states, _ := list(); states != " received received received" {
		t.Errorf("with a larger one: %s", states)
	}
	if err := s.store.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the files have no such entries", func() bool { return len(s.store.Deletions()) == 0 })
	if states, _ := list(); states != " processed processed processed" {
		t.Errorf("then: %s", states)
	}
}
