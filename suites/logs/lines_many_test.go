package logs

import (
	"bytes"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// With an exact number of streams, each pass has one line of every stream, and the line
// is as one of that stream should be.
func TestLogLinesAreDealtInTurn(t *testing.T) {
	for _, streams := range []int{1, 19, 380, 401, 20_001} {
		l, err := newLines(1, Source{Streams: streams})
		if err != nil {
			t.Fatal(err)
		}
		labels := map[logstore.Labels]bool{}
		for _, s := range l.Labels() {
			labels[s] = true
			if pod := s.Get("pod") != ""; pod != (streams > podsFrom) {
				t.Fatalf("%d streams: %v", streams, s)
			}
		}
		if len(labels) != streams {
			t.Fatalf("%d different labels of %d streams", len(labels), streams)
		}
		var e Line
		for range 2 {
			seen := make([]bool, streams)
			for range streams {
				l.Next(&e)
				if seen[e.Stream] {
					t.Fatalf("%d streams: %d has two lines in a pass", streams, e.Stream)
				}
				seen[e.Stream] = true
				want := logstore.MustLabels("app", e.App, "host", e.Host, "level", e.Level, "pod", l.labels(e.Stream).Get("pod"))
				if got := l.labels(e.Stream); got != want {
					t.Fatalf("a line of %v has the labels %v", want, got)
				}
				if e.App == "sshd" && !bytes.Contains(e.Line, []byte(e.Host)) {
					t.Fatalf("%s does not name %s", e.Line, e.Host)
				}
			}
		}
	}
}

func TestSourceRefuses(t *testing.T) {
	for _, s := range []Source{{Streams: -1}, {Streams: maxStreams + 1}, {Streams: 500, Corpus: "where"}} {
		if _, err := newLines(1, s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
	t.Setenv(StreamsEnv, "many")
	if s, err := SourceFromEnv(); err == nil {
		t.Errorf("%s=many gave %+v", StreamsEnv, s)
	}
}
