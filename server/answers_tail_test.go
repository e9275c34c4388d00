package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/coder/websocket"
)

// TestLokiTails compares what a tail begins with: the lines that are there already.
func TestLokiTails(t *testing.T) {
	s := lokiServer(t, Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	for _, want := range readLines[struct {
		Query      string
		Limit      int
		Start      int64
		Categorize bool
		Lines      int
		Messages   []json.RawMessage
	}](t, "testdata/loki/tails.jsonl") {
		header := http.Header{}
		if want.Categorize {
			header.Set("X-Loki-Response-Encoding-Flags", "categorize-labels")
		}
		c, _, err := websocket.Dial(t.Context(), web.URL+"/loki/api/v1/tail?"+
			values("query", want.Query, "limit", fmt.Sprint(want.Limit), "start", fmt.Sprint(want.Start)), &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for len(got) < want.Lines {
			_, text, err := c.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, linesOf(t, text)...)
		}
		_ = c.CloseNow()
		var wanted []string
		for _, m := range want.Messages {
			wanted = append(wanted, linesOf(t, m)...)
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%s:\n%q\nwant\n%q", want.Query, got, wanted)
		}
	}
}

// linesOf returns the lines of a message, each with its labels.
func linesOf(t *testing.T, message []byte) (lines []string) {
	t.Helper()
	var m struct {
		Streams []struct {
			Stream map[string]string
			Values [][]any
		}
	}
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatalf("%v: %s", err, message)
	}
	for _, s := range m.Streams {
		for _, v := range s.Values {
			text, err := json.Marshal([]any{s.Stream, v})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(text))
		}
	}
	return lines
}
