package lokiclient

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// mute returns the URL of a listener that accepts connections and never answers.
func mute(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestAServerThatNeverAnswers(t *testing.T) {
	c, err := New(Options{Addr: mute(t), Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		if err == nil || !Temporary(err) || !strings.Contains(err.Error(), "no answer within --timeout, 20ms") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range c.Tail(t.Context(), Tail{Query: "{}"}) {
		check("tail", err)
	}
	for _, err := range c.Export(t.Context(), Export{Query: "{}"}) {
		check("export", err)
	}
	_, err = c.Labels(t.Context(), Range{})
	check("labels", err)
}

// An export that finds nothing for long goes on while the server answers others.
func TestAnExportWaitsForAServerThatIsThere(t *testing.T) {
	for _, begun := range []bool{false, true} {
		probed := make(chan struct{})
		var once sync.Once
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ready" {
				once.Do(func() { close(probed) })
				http.Error(w, "not yet", http.StatusServiceUnavailable)
				return
			}
			if begun {
				w.(http.Flusher).Flush()
			}
			<-probed
			w.Write([]byte(`{"end":true}` + "\n"))
		}))
		defer server.Close()
		c, err := New(Options{Addr: server.URL, Timeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		c.probe = time.Millisecond
		for _, err := range c.Export(t.Context(), Export{Query: "{}"}) {
			t.Error(err)
		}
	}
}
