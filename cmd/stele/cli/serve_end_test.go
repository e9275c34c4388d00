package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// SIGTERM under pushes: the server ends within its time, and what it has acknowledged is there,
// once.
func TestServeEndsUnderPushes(t *testing.T) {
	t.Chdir(t.TempDir())
	server, addr := aServer(t, "--shutdown-timeout", "50s")
	const clients, enough = 4, 50
	var mu sync.Mutex
	acknowledged := map[string]int{}
	many := make(chan struct{})
	var running sync.WaitGroup
	for g := range clients {
		running.Go(func() {
			for i := 0; ; i++ {
				line := fmt.Sprintf("line %d of client %d", i, g)
				body := fmt.Sprintf(`{"streams":[{"stream":{"app":"shop"},"values":[["1767600000000000000",%q]]}]}`, line)
				resp, err := http.Post(addr+"/loki/api/v1/push", "application/json", strings.NewReader(body))
				if err != nil {
					return // it has ended
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusNoContent {
					continue
				}
				mu.Lock()
				if acknowledged[line] = 0; len(acknowledged) == enough {
					close(many)
				}
				mu.Unlock()
			}
		})
	}
	<-many
	if code := server.terminate(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, &server.diag)
	}
	running.Wait()
	code, out, diag := stele(t, "export", `{app="shop"}`, "--data", "store", "--from", "2026-01-05T08:00:00Z", "--to", "2026-01-05T09:00:00Z", "-o", "raw")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	found := map[string]int{}
	for line := range strings.Lines(out) {
		found[strings.TrimSuffix(line, "\n")]++
	}
	for line, n := range found {
		if n != 1 {
			t.Errorf("%q is there %d times", line, n)
		}
	}
	for line := range acknowledged {
		if found[line] == 0 {
			t.Errorf("%q was acknowledged, and is not there", line)
		}
	}
}
