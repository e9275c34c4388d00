package loki

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server"
)

// logcli returns the path of logcli: STELE_LOGCLI, the one in PATH, or, with STELE_LONG,
// one that is built, which takes minutes.
func logcli(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("STELE_LOGCLI"); path != "" {
		return path
	}
	if path, err := exec.LookPath("logcli"); err == nil {
		return path
	}
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("no logcli: set STELE_LOGCLI to its path, or STELE_LONG=1 to build it")
	}
	path, err := Build(t.Context(), t.TempDir(), "logcli")
	if err != nil {
		t.Skip("logcli cannot be built: ", err)
	}
	return path
}

// serve returns the address of a server that has the data.
func serve(t *testing.T) string {
	t.Helper()
	store, err := logstore.Open(t.TempDir(), logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := server.New(store, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		<-served
	})
	url := "http://" + l.Addr().String()
	push(t, url, Data())
	return url
}

func push(t *testing.T, url string, entries []Entry) {
	t.Helper()
	body, err := PushBody(entries)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+"/loki/api/v1/push", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatal("push: ", resp.Status)
	}
}

// TestLogcli runs the commands of logcli.
func TestLogcli(t *testing.T) {
	binary, url := logcli(t), serve(t)
	window := []string{"--from=2026-03-01T10:00:00Z", "--to=2026-03-01T11:00:00Z"}
	for _, c := range []struct {
		name string
		args []string
		want []string // parts of what it writes
	}{
		{"query", append([]string{"query", `{app="sparse"}`}, window...), []string{"beat 0", "beat 5"}},
		{"query forward", append([]string{"query", "--forward", "--limit=2", "--output=raw", `{app="sparse"}`}, window...), []string{"beat 0\nbeat 1\n"}},
		{"query jsonl", append([]string{"query", "--output=jsonl", "--limit=1", `{app="api"} | json | status="503"`}, window...), []string{`"line":"{\"level\":`, `\"status\":503`, `"timestamp":"2026-03-01T10:`}},
		{"query in parts", append([]string{"query", "--batch=7", "--limit=40", "--quiet", "--output=raw", `{app="worker"} | decolorize`}, window...), []string{"job=", "after"}},
		{"query of numbers", append([]string{"query", "--step=30m", `sum by (app) (count_over_time({app="sparse"}[1h]))`}, window...), []string{`"sparse"`, `"6"`}},
		{"instant-query", []string{"instant-query", "--now=2026-03-01T11:00:00Z", `sum(count_over_time({app="web"}[1h]))`}, []string{`"620"`}},
		{"labels", append([]string{"labels"}, window...), []string{"app\nenv\nhost\nlevel\nteam\n"}},
		{"labels of one", append([]string{"labels", "env"}, window...), []string{"dev\nprod\n"}},
		{"series", append([]string{"series", `{app="auth"}`}, window...), []string{`{app="auth", env="dev", host="c2", team="core"}`, `host="c1"`}},
		{"series analysed", append([]string{"series", "--analyze-labels", `{app="auth"}`}, window...), []string{"Total Streams:  2", "host"}},
		{"stats", append([]string{"stats", `{app="sparse"}`}, window...), []string{"entries:", "6", "streams:"}},
		{"volume", append([]string{"volume", `{env="prod"}`}, window...), []string{`"env": "prod"`}},
		{"volume of labels", append([]string{"volume", "--targetLabels=app", `{env="dev"}`}, window...), []string{`"app": "packed"`}},
		{"volume_range", append([]string{"volume_range", "--step=30m", `{env="dev"}`}, window...), []string{`"env": "dev"`}},
		{"fmt", []string{"fmt"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), binary, append([]string{"--addr=" + url, "--timezone=UTC"}, c.args...)...)
			cmd.Stdin = strings.NewReader(`sum(rate({app="api"}[5m]))`)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, errs.Bytes())
			}
			for _, part := range c.want {
				if !strings.Contains(string(out), part) {
					t.Errorf("%q is missing in:\n%s%s", part, out, errs.Bytes())
				}
			}
		})
	}
}

// TestLogcliParts counts the lines of a query that logcli asks for in parts.
func TestLogcliParts(t *testing.T) {
	binary, url := logcli(t), serve(t)
	out, err := exec.CommandContext(t.Context(), binary, "--addr="+url, "--quiet", "query", "--batch=7", "--limit=1000", "--output=raw",
		"--from=2026-03-01T10:00:00Z", "--to=2026-03-01T11:00:00Z", `{app="worker"} | decolorize | line_format "{{__timestamp__ | unixEpochNanos}}"`).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	if len(lines) != 160 || !slices.IsSortedFunc(lines, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("%d lines; want 160, the newest first", len(lines))
	}
}

// TestLogcliTail pushes lines to a server of which logcli writes the newest.
func TestLogcliTail(t *testing.T) {
	binary, url := logcli(t), serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "--addr="+url, "--quiet", "--output=raw", "query", "--tail", `{app="tailed"} |= "wanted"`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	// Nothing tells when logcli listens, so lines are pushed until it writes one.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case line, ok := <-lines:
			if !ok || !strings.HasPrefix(line, "wanted") {
				t.Errorf("%q %v; want a line that is wanted", line, ok)
			}
			return
		case <-tick.C:
			now := time.Now().UnixNano()
			stream := map[string]string{"app": "tailed"}
			push(t, url, []Entry{{Stream: stream, Time: now, Line: fmt.Sprint("wanted ", i)}, {Stream: stream, Time: now + 1, Line: "other"}})
		}
	}
}
