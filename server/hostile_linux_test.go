package server

import (
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
)

// descriptors counts those of this process.
func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Clients that stall in every way there is hold neither descriptors nor goroutines nor memory of
// pushes and forms.
func TestStallingClients(t *testing.T) {
	o := hurried()
	o.Conns.Write = 50 * time.Millisecond
	s := newServer(t, o)
	addr := listen(t, s)
	goroutines, before := runtime.NumGoroutine(), descriptors(t)
	const form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000\r\n\r\nquery="
	var all sync.WaitGroup
	for _, request := range []string{
		"", "GET /", "POST /loki/api/v1/query HTTP/1.1\r\nHost: a\r\n" + form, "POST /loki/api/v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form,
		"POST /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form, "POST /api/prom/push HTTP/1.1\r\nHost: 127.0.0.1\r\n" + form,
		pushRequest("application/json", "", make([]byte, 100_000))[:50_000], strings.Repeat(pushRequest("application/json", "", []byte("{")), 100),
	} {
		for range 10 {
			all.Go(func() {
				c := dial(t, addr)
				_, _ = io.WriteString(c, request) // it may be closed by then
				c.closes(t)
				c.Close()
			})
		}
	}
	all.Wait()
	eventually(t, "no connection is open", func() bool { return s.conns.open.Load() == 0 })
	eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	eventually(t, "descriptors are closed", func() bool { return descriptors(t) <= before+2 })
	if push, form := s.pusher.memory.Free(), s.forms.room.Free(); push != s.pusher.o.Memory || form != maxForms {
		t.Errorf("%d and %d bytes are not given back", s.pusher.o.Memory-push, maxForms-form)
	}
}

// Bodies of many small entries take the memory that they are charged, all together.
func TestEntryBombs(t *testing.T) {
	const n = 100_000
	s := newServer(t, Options{Push: PushLimits{Body: 1 << 20, Decompressed: 1 << 20, Entries: n, Wait: time.Minute}})
	addr := listen(t, s)
	entry := protoField(nil, 2, nil)
	body := snappy.Encode(nil, protoField(nil, 1, append(protoField(nil, 1, []byte(`{a="1"}`)), strings.Repeat(string(entry), n+1)...)))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if res, text := dial(t, addr).do(t, pushRequest("", "", body)); res.StatusCode != 400 && res.StatusCode != 429 || strings.Contains(text, "kept") {
				t.Error(res.StatusCode, text)
			}
		})
	}
	all.Wait()
	if free := s.pusher.memory.Free(); free != s.pusher.o.Memory {
		t.Errorf("%d bytes are not given back", s.pusher.o.Memory-free)
	}
}
