package lokiclient

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestDroppedLines(t *testing.T) {
	for entries, want := range map[string]int64{
		`[]`: 0,
		`[{"labels":{"dropped":"1234"},"timestamp":"1"}]`:                              1234, // of stele serve
		`[{"labels":{"app":"a"},"timestamp":"1"},{"labels":"{app=\"a\"}"},{"x":null}]`: 3,
		`[{"labels":{"app":"a","dropped":"7"},"timestamp":"1"}]`:                       1,
	} {
		m, err := decodeTail([]byte(`{"streams":[],"dropped_entries":` + entries + `}`))
		if err != nil || m.Dropped != want {
			t.Errorf("%s: %d, %v; want %d", entries, m.Dropped, err, want)
		}
	}
}

// A server that has vanished without a word answers no ping.
func TestTailOfASilentServerEnds(t *testing.T) {
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			<-end // it reads nothing
			conn.CloseNow()
		}
	}))
	defer server.Close()
	defer close(end)
	c, err := New(Options{Addr: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c.tailPing, c.tailPong = time.Millisecond, time.Millisecond // which a ping may take to be written
	for _, err := range c.Tail(t.Context(), Tail{Query: "{}"}) {
		if err != nil {
			if !Temporary(err) || !strings.Contains(err.Error(), "does not answer a ping") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("the tail has ended without an error")
}
