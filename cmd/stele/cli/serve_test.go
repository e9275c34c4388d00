package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is the program, as a process of its own.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  lockedBuffer
	diag lockedBuffer
	done chan struct{}
}

// A lockedBuffer is read while a process writes it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts the program. It is killed at the end of the test.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), steleArgs+"="+strings.Join(args, "\n"))
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.diag
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// terminate ends the program as a service manager does, and returns its exit code.
func (p *process) terminate() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.t.Fatalf("it does not end:\n%s", &p.diag)
	}
	return p.cmd.ProcessState.ExitCode()
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("after two minutes still not: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// aServer starts a server of the store in the directory store, and returns its URL once it
// is ready.
func aServer(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	p := start(t, append([]string{"serve", "--data", "store", "--listen", freeAddress(t), "--log-format", "json"}, args...)...)
	var addr string
	until(t, "the server is ready", func() bool {
		select {
		case <-p.done:
			t.Fatalf("the server has ended:\n%s", &p.diag)
		default:
		}
		addr = logged(p.diag.String(), "listening", "address")
		if addr == "" {
			return false
		}
		resp, err := http.Get(addr + "/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p, addr
}

// freeAddress returns an address that nobody listens on. Its port is outside the range from
// which systems choose ports themselves, so no other test gets it before the server does.
func freeAddress(t *testing.T) string {
	t.Helper()
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))); err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal(err)
	return ""
}

// logged returns a field of the line of a log that has the message.
func logged(log, message, field string) string {
	for line := range strings.Lines(log) {
		var doc map[string]any
		if json.Unmarshal([]byte(line), &doc) == nil && doc["msg"] == message {
			return fmt.Sprint(doc[field])
		}
	}
	return ""
}

func TestServePushQuery(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	appLog(t)
	server, addr := aServer(t, "--debug-listen", "127.0.0.1:0")
	t.Setenv("STELE_ADDR", addr)
	steps := []struct {
		args []string
		code int
		want string // all of standard output, or with "..." a part of it, or of standard error
	}{
		{[]string{"push", "app.log", "--label", "app=shop", "--label", "filename=app.log", "--time", "auto"}, 0, "...3 lines"},
		{[]string{"push", "app.log", "--label", "app=shop"}, 0, "...0 lines"},
		{[]string{"query", `{app="shop"}`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T08:00:05Z", "-o", "raw", "--direction", "forward"}, 0,
			"2025-01-15T08:00:00Z level=info msg=\"first\"\n2025-01-15T08:00:01Z level=error msg=\"second\"\n\tat a stack\n"},
		{[]string{"query", `{app="shop"} |= "second"`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T08:00:05Z", "-o", "json"}, 0,
			`{"time":"2025-01-15T08:00:01Z","labels":{"app":"shop","filename":"app.log"},"line":"2025-01-15T08:00:01Z level=error msg=\"second\""}` + "\n"},
		{[]string{"query", `sum by (app) (count_over_time({app="shop"}[1m]))`, "--instant", "--to", "2025-01-15T08:00:05Z"}, 0, `2025-01-15T08:00:05Z  3  {app="shop"}` + "\n"},
		{[]string{"query", `sum by (app) (count_over_time({app="shop"}[1m]))`, "--instant", "--to", "2025-01-15T08:00:05Z", "-o", "csv"}, 0,
			"time,labels,value\n2025-01-15T08:00:05Z,\"{app=\"\"shop\"\"}\",3\n"},
		{[]string{"query", `{app="shop"} |= "second"`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T08:00:05Z", "--explain"}, 0, "...streams {app=\"shop\"}"},
		{[]string{"query", `{app="shop"} |= `}, exitUsage, "...\n{app=\"shop\"} |= \n                ^"},
		{[]string{"labels", "app", "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z"}, 0, "shop\n"},
		{[]string{"labels", "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z", "-o", "json"}, 0, `["app","filename"]` + "\n"},
		{[]string{"series", `{app="shop"}`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z"}, 0, `{app="shop", filename="app.log"}` + "\n"},
		{[]string{"patterns", `{app="shop"}`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z", "--limit", "5"}, 0, "...stack\n"},
		{[]string{"patterns", `{app="shop"} |= "stack"`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z", "--step", "1h", "-o", "json"}, 0,
			`...,"lines":1,"counts":[{"time":"2025-01-15T08:00:00Z","lines":1}]}` + "\n"},
		{[]string{"export", `{app="shop"}`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z", "-o", "csv"}, 0,
			"time,labels,metadata,line\n2025-01-15T08:00:00Z,\"{app=\"\"shop\"\", filename=\"\"app.log\"\"}\",,\"2025-01-15T08:00:00Z level=info msg=\"\"first\"\"\"..."},
		{[]string{"query", "--data", "store", `{app="shop"}`}, exitFailed, "...process " + fmt.Sprint(server.cmd.Process.Pid) + " serves it: ask that, with --addr " + addr},
		{[]string{"query", "--tenant", "other", `{app="shop"}`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z", "-o", "raw", "-n", "1"}, 0, "\tat a stack\n"}, // there are no tenants
	}
	for _, s := range steps {
		code, out, diag := stele(t, s.args...)
		part, some := strings.CutPrefix(s.want, "...")
		begin, cut := strings.CutSuffix(s.want, "...")
		ok := out == s.want || some && strings.Contains(out+diag, part) || cut && strings.HasPrefix(out, begin)
		if code != s.code || !ok {
			t.Errorf("stele %q: exit code %d\n got %s%s\nwant %s", s.args, code, out, diag, s.want)
		}
	}
	at := logged(server.diag.String(), "debugging", "address")
	if !isServed(at) {
		t.Errorf("pprof is not at %q", at)
	}
	if name := strings.Replace(at, "127.0.0.1", "evil.example", 1); isServed(at, strings.TrimSuffix(strings.TrimPrefix(name, "http://"), "/debug/pprof/")) {
		t.Errorf("pprof is at %s too", name)
	}
	if code := server.terminate(); code != exitOK || logged(server.diag.String(), "closed", "data") != "store" {
		t.Errorf("exit code %d:\n%s", code, &server.diag)
	}
	if _, err := os.Stat(filepath.Join("store", announcementFile)); err == nil {
		t.Error("the store says that it is served still")
	}
	os.Unsetenv("STELE_ADDR")
	code, out, diag := stele(t, "query", "--data", "store", `{app="shop"}`, "--from", "2025-01-15T08:00:00Z", "--to", "2025-01-15T09:00:00Z", "-o", "raw", "-n", "1")
	if code != exitOK || out != "\tat a stack\n" {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}

// isServed reports whether a server answers, which may be asked by another name.
func isServed(url string, host ...string) bool {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	if len(host) > 0 {
		r.Host = host[0]
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestServeTellsItsSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	_, addr := aServer(t, "--retention", "7d")
	resp, err := http.Get(addr + "/config")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(data), "\nretention: 7d\n") {
		t.Errorf("%v\n%s", err, data)
	}
}

func TestServeRefusesAStoreInUse(t *testing.T) {
	t.Chdir(t.TempDir())
	_, addr := aServer(t)
	code, _, diag := stele(t, "serve", "--data", "store", "--listen", "127.0.0.1:0")
	if code != exitFailed || !strings.Contains(diag, "serves it: ask that, with --addr "+addr) {
		t.Errorf("exit code %d: %s", code, diag)
	}
	code, _, diag = stele(t, "serve", "--data", "other", "--listen", strings.TrimPrefix(addr, "http://"))
	if code != exitFailed || !strings.Contains(diag, "--listen: listen tcp") {
		t.Errorf("exit code %d: %s", code, diag)
	}
	if _, err := os.Stat("other"); err == nil {
		t.Error("the store was made, although the address is in use")
	}
}
