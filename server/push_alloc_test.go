//go:build !race

package server

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
)

// A push of one line allocates nothing. Not under the race detector, which drops what
// sync.Pool keeps.
func TestPushAllocatesNothing(t *testing.T) {
	s := newServer(t, Options{})
	bodies := make([][]byte, 4001)
	for i := range bodies {
		bodies[i] = snappy.Encode(nil, protoPush(`{a="1"}`, int64(1e18)+int64(i), fmt.Sprint("line ", i)))
	}
	var p push
	send := func() {
		p = push{contentType: "application/x-protobuf", length: int64(len(bodies[0])), ready: bodies[0], begun: time.Now()}
		bodies = bodies[1:]
		if err := s.pusher.serve(&p); err != nil || p.given.Kept != 1 {
			t.Fatal(p.given, err)
		}
		s.metrics.pushes.add(http.StatusNoContent, time.Since(p.begun))
	}
	for range 2000 { // tables and buffers grow
		send()
	}
	// An average, rounded down: what the store does in the background allocates.
	if n := testing.AllocsPerRun(2000, send); n > 0 {
		t.Errorf("a push allocates %v times", n)
	}
}
