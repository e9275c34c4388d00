package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A tailTest is a server and a tail of it.
type tailTest struct {
	t         *testing.T
	server    *process
	addr      string
	args      []string // of the server
	out, diag lockedBuffer
	ended     chan int
	cancel    context.CancelFunc
}

func newTailTest(t *testing.T, args ...string) *tailTest {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	k := &tailTest{t: t, args: args, ended: make(chan int, 1)}
	k.server, k.addr = aServer(t, args...)
	t.Setenv("STELE_ADDR", k.addr)
	return k
}

func (k *tailTest) push(lines string) {
	k.t.Helper()
	var out, diag bytes.Buffer
	if code := execute(k.t.Context(), []string{"push", "-", "--label", "app=shop"}, strings.NewReader(lines), &out, &diag); code != exitOK {
		k.t.Fatalf("exit code %d: %s", code, &diag)
	}
}

func (k *tailTest) tail(args ...string) {
	ctx, cancel := context.WithCancel(k.t.Context())
	k.cancel = cancel
	k.t.Cleanup(cancel)
	go func() {
		k.ended <- execute(ctx, append([]string{"tail", `{app="shop"}`, "-o", "raw"}, args...), strings.NewReader(""), &k.out, &k.diag)
	}()
}

// shows waits until the tail has shown exactly these lines.
func (k *tailTest) shows(lines string) {
	k.t.Helper()
	defer func() {
		if k.t.Failed() {
			k.t.Logf("it has shown %.2000q:\n%s", k.out.String(), &k.diag)
		}
	}()
	until(k.t, fmt.Sprintf("the tail shows all %d bytes", len(lines)), func() bool {
		select {
		case code := <-k.ended:
			k.t.Fatalf("the tail has ended with exit code %d: %s", code, &k.diag)
		default:
		}
		return k.out.String() == lines
	})
}

func (k *tailTest) restart() {
	k.t.Helper()
	args := append([]string{"serve", "--data", "store", "--listen", strings.TrimPrefix(k.addr, "http://")}, k.args...)
	k.server = start(k.t, args...)
	until(k.t, "the server serves again", func() bool { return isServed(k.addr + "/ready") })
}

func (k *tailTest) end() {
	k.t.Helper()
	k.cancel()
	if code := <-k.ended; code != exitOK {
		k.t.Errorf("exit code %d: %s", code, &k.diag)
	}
}

func TestTailShowsLinesAsTheyCome(t *testing.T) {
	k := newTailTest(t)
	k.push("before\n")
	k.tail()
	k.shows("before\n")
	k.push("after\n")
	k.shows("before\nafter\n")
	k.server.kill()
	k.restart()
	k.push("again\n")
	k.shows("before\nafter\nagain\n")
	k.end()
}

// lokiOf answers as Loki, which has no exports. The first connection of a tail ends at once.
func lokiOf(t *testing.T, page func(start, limit string) string, message string) *httptest.Server {
	var calls atomic.Int32
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/tail") {
			if strings.HasSuffix(r.URL.Path, "/query_range") {
				fmt.Fprintf(w, `{"status":"success","data":{"resultType":"streams","result":[%s]}}`, page(r.FormValue("start"), r.FormValue("limit")))
				return
			}
			http.NotFound(w, r)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		if calls.Add(1) == 1 {
			return
		}
		conn.Write(r.Context(), websocket.MessageText, []byte(`{"streams":[`+message+`]}`))
		conn.Read(r.Context())
	}))
}

// A tail that has shown nothing yet connects again, too.
func TestQuietTailConnectsAgain(t *testing.T) {
	server := lokiOf(t, func(start, limit string) string { return "" }, `{"stream":{"app":"shop"},"values":[["1","a line"]]}`)
	defer server.Close()
	t.Setenv("STELE_ADDR", server.URL)
	k := &tailTest{t: t, ended: make(chan int, 1)}
	k.tail()
	k.shows("a line\n")
	k.end()
}

// Of Loki, what was missed comes page by page, and what is in two answers is shown once.
func TestTailOfLokiShowsWhatItMissed(t *testing.T) {
	begin := time.Now().Add(time.Hour).UnixNano()
	values := func(from, n int64) string {
		var all []string
		for i := from; i < from+n; i++ {
			all = append(all, fmt.Sprintf(`["%d","%d"]`, begin+i/2, i))
		}
		return `{"stream":{"app":"shop"},"values":[` + strings.Join(all, ",") + `]}`
	}
	server := lokiOf(t, func(start, limit string) string {
		if limit != "1000" {
			t.Errorf("a page of %s lines", limit)
		}
		switch start {
		case fmt.Sprint(begin + 499): // the last of the first page, of which 998 and 999 are
			return values(998, 7)
		case fmt.Sprint(begin + 502):
			return values(1004, 1)
		}
		return values(0, 1000)
	}, values(1004, 3))
	defer server.Close()
	t.Setenv("STELE_ADDR", server.URL)
	k := &tailTest{t: t, ended: make(chan int, 1)}
	k.tail()
	var want strings.Builder
	for i := range 1007 {
		fmt.Fprintln(&want, i)
	}
	k.shows(want.String())
	k.end()
}

// A tail misses no line without a connection, however few lines the server gives at once.
func TestTailShowsWhatItMissed(t *testing.T) {
	k := newTailTest(t, "--max-query-lines", "3")
	k.push("one\ntwo\n")
	k.tail("-n", "2")
	k.shows("one\ntwo\n")
	k.server.kill()
	k.restart()
	k.push("3\n4\n5\n6\n7\n8\n9\n")
	k.shows("one\ntwo\n3\n4\n5\n6\n7\n8\n9\n")
	k.end()
}

// Equal lines are shown as often as they come, also after a connection was lost.
func TestTailShowsEqualLines(t *testing.T) {
	at := time.Now().Add(time.Hour).UnixNano()
	line := func(at int64, text string) string {
		return fmt.Sprintf(`{"streams":[{"stream":{"app":"shop"},"values":[["%d","%s"]]}]}`, at, text)
	}
	var tails atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/export") {
			for range 2 {
				fmt.Fprintf(w, `{"time":"%d","line":"equal","labels":{"app":"shop"}}`+"\n", at)
			}
			fmt.Fprintln(w, `{"end":true}`)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		messages := []string{line(at, "equal")}
		if tails.Add(1) > 1 { // the history, and a late line behind a newer one
			messages = []string{line(at, "equal"), line(at, "equal"), line(at+1, "newer"), line(at, "equal")}
		}
		for _, m := range messages {
			conn.Write(r.Context(), websocket.MessageText, []byte(m))
		}
		if tails.Load() > 1 {
			conn.Read(r.Context())
		}
	}))
	defer server.Close()
	t.Setenv("STELE_ADDR", server.URL)
	k := &tailTest{t: t, ended: make(chan int, 1)}
	k.tail()
	k.shows("equal\nequal\nnewer\nequal\n")
	k.end()
}
