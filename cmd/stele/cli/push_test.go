package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// appLog writes app.log, with a line of which the time is not in it.
func appLog(t *testing.T) {
	t.Helper()
	text := "2025-01-15T08:00:00Z level=info msg=\"first\"\n2025-01-15T08:00:01Z level=error msg=\"second\"\n\tat a stack\n"
	if err := os.WriteFile("app.log", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestPushDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	appLog(t)
	code, out, diag := stele(t, "push", "app.log", "--label", "app=shop", "--label", "filename=x", "--time", "auto", "--dry-run")
	want := `2025-01-15T08:00:00Z {app="shop", filename="x"} 2025-01-15T08:00:00Z level=info msg="first"
2025-01-15T08:00:01Z {app="shop", filename="x"} 2025-01-15T08:00:01Z level=error msg="second"
2025-01-15T08:00:01Z {app="shop", filename="x"} ` + "\tat a stack\n"
	if code != exitOK || out != want || diag != "" {
		t.Errorf("exit code %d\n%s%s", code, out, diag)
	}
}

func TestWrongCallsOfTheServerCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	appLog(t)
	for _, c := range []struct {
		call, want string
		code       int
	}{
		{"push", "FILE...: 0 arguments; want 1 or more", exitUsage},
		{"push app.log --label app", `--label: "app"; want NAME=VALUE`, exitUsage},
		{"push app.log --label 1a=b", `--label: "1a=b"; want NAME=VALUE`, exitUsage},
		{"push -", "--label: none; want one at least", exitUsage},
		{"push app.log --time never", `--time: "never"; want auto, iso`, exitUsage},
		{"push app.log --time-zone Mars", `--time-zone: "Mars"; want a zone`, exitUsage},
		{"push app.log --batch 4MiB", "--batch: 4194304; want 1 to 3145728", exitUsage},
		{"push app.log --from-end", "--from-end: want --follow with it", exitUsage},
		{"push app.log --follow --dry-run", "--dry-run: want it without --follow", exitUsage},
		{"push app.log --addr nowhere", `--addr: "nowhere"; want a URL such as http://127.0.0.1:3100`, exitUsage},
		{"push app.log --addr http://127.0.0.1:1", "connection refused", exitFailed},
		{"push app.log --data d", `--data: "d"; want no such flag with stele push, which sends to a server`, exitUsage},
		{"push app.log --timeout -1s", "--timeout: -1s; want 0 (no limit) or more", exitUsage},
		{"push a[ --follow", `FILE...: "a["; want the name of a file, or a pattern`, exitUsage},
		{"push app.log --addr http://127.0.0.1:1 --give-up 10ms", "connection refused", exitFailed},
		{"push none.log --dry-run", "none.log: no such file", exitFailed},
		{"push none*.log --dry-run", "none*.log: no file has such a name", exitFailed},
		{"query", "QUERY: 0 arguments; want 1", exitUsage},
		{"query {} --from x", `--from: "x"; want a moment such as`, exitUsage},
		{"query {} --since soon", `--since: "soon"; want a time such as 30m`, exitUsage},
		{"query {} --from now --to 1h", "want a moment before --to", exitUsage},
		{"query {} -o xml", `--output: "xml"; want text, raw, json or csv`, exitUsage},
		{"query {} --limit 0", "--limit: 0; want 1 or more", exitUsage},
		{"query {} --color blue", `--color: "blue"; want auto, always or never`, exitUsage},
		{"query {} --data none", "no such file", exitFailed},
		{"query {} --data . --addr http://localhost", "--data: want it without --addr", exitFailed},
		{"tail", "QUERY: 0 arguments; want 1", exitUsage},
		{"labels a b", "NAME: 2 arguments; want 0 or 1", exitUsage},
		{"series", "SELECTOR...: 0 arguments; want 1 or more", exitUsage},
		{"patterns", "QUERY: 0 arguments; want 1", exitUsage},
		{"patterns {} --limit 0", "--limit: 0; want 1 or more", exitUsage},
		{"patterns {} --step -1s", "--step: -1s; want 0s or more", exitUsage},
		{"export {} --resume", "--resume: true; want a --file with it", exitUsage},
		{"query {} --since 1h --from 0", `--since: "1h"; want one of --since and --from`, exitUsage},
		{"query {} --instant --step 1m", `--step: "1m"; want no --step with --instant`, exitUsage},
		{"query {} --timeout -1s", `--timeout: -1s; want 0 (no limit) or more`, exitUsage},
		{"query {} --addr http://127.0.0.1:1", "'stele serve --data DIR' starts one; --addr says which server to ask, and --data DIR reads a store without one", exitFailed},
		{"tail {} --addr http://127.0.0.1:1", "'stele serve --data DIR' starts one; --addr says which server to ask\n", exitFailed},
		{"tail {} --delay 1500ms", "--delay: 1.5s; want whole seconds from 0s to 5s", exitUsage},
		{"export {} --compress lzw", `--compress: "lzw"; want gzip, zstd or none`, exitUsage},
		{"serve", `--data: ""; want the directory of a store`, exitUsage},
		{"serve --data d --listen 3100", `--listen: "3100"; want an address such as 127.0.0.1:3100`, exitUsage},
		{"serve --data d --retention ever", `--retention: "ever"; want a time such as`, exitUsage},
		{"serve --data d --config none.yaml", "--config: open none.yaml: no such file", exitUsage},
		{"serve d", "stele serve: 1 argument; want 0", exitUsage},
	} {
		code, _, diag := stele(t, strings.Fields(c.call)...)
		if code != c.code || !strings.Contains(diag, c.want) {
			t.Errorf("stele %s: exit code %d, want %d; standard error %q, want %q in it", c.call, code, c.code, diag, c.want)
		}
	}
}

// The generations of a file are one source: they are sent once, by whatever names, and
// another log beside it is sent too.
func TestPushRotatedFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	_, addr := aServer(t)
	written := time.Now().Add(-24 * time.Hour)
	write := func(name, text string) {
		t.Helper()
		written = written.Add(time.Hour)
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o666), os.Chtimes(name, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	push := func(want string, args ...string) {
		t.Helper()
		code, _, diag := stele(t, append([]string{"push", "--addr", addr, "--bookmarks", "../books", "--label", "app=shop"}, args...)...)
		if code != exitOK || !strings.Contains(diag, want) {
			t.Errorf("push %s: exit code %d, %swant %s", args, code, diag, want)
		}
	}
	if err := os.Mkdir("logs", 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir("logs")
	write("app.log.2", "the first line of the oldest file\n")
	write("app.log.1", "the first line of the older file\nand its second line\n")
	write("app.log", "the first line of the file\n")
	write("app.log.audit", "the first line of another log\n")
	push("5 lines", "app.log*")
	push("0 lines", "app.log*")
	for i, from := range []string{"app.log.2", "app.log.1", "app.log"} {
		if err := os.Rename(from, fmt.Sprintf("app.log.%d", 3-i)); err != nil {
			t.Fatal(err)
		}
	}
	push("0 lines", "app.log*") // there is no new one yet
	write("app.log", "the first line of the newest file\n")
	push(": 1 line, ", "app.log*")
	push("0 lines", "*")
	code, out, diag := stele(t, "query", `count_over_time({app="shop"}[1d])`, "--instant", "--addr", addr)
	if code != exitOK || strings.Count(out, "\n") != 2 || !strings.Contains(out, "app.log.audit") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}

// One argument that names nothing does not hold the others.
func TestPushOfSomeFilesThatAreThere(t *testing.T) {
	t.Chdir(t.TempDir())
	appLog(t)
	code, out, diag := stele(t, "push", "none*.log", "none.log", "app.log", "--dry-run", "-o", "raw")
	if code != exitFailed || strings.Count(out, "\n") != 3 || !strings.Contains(diag, "none*.log: no file has such a name") || !strings.Contains(diag, "none.log: no such file") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}

// At SIGTERM what was read from standard input is sent.
func TestPushOfStandardInputIsCutShort(t *testing.T) {
	t.Chdir(t.TempDir())
	defer func(d time.Duration) { lastWord = d }(lastWord)
	lastWord = time.Minute // the disk may be slow
	server, addr := aServer(t)
	for _, alive := range []bool{true, false} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var out, diag lockedBuffer
		ended := make(chan int, 1)
		in := &toldReader{r: r, asked: make(chan struct{}, 2)}
		go func() {
			ended <- execute(ctx, []string{"push", "-", "--label", "app=shop", "--addr", addr, "--follow", "--give-up", "100ms"}, in, &out, &diag)
		}()
		read := func() {
			select {
			case <-in.asked:
			case code := <-ended:
				ended <- code
			}
		}
		read() // it has found the server
		if !alive {
			server.kill()
		}
		if _, err := w.WriteString("first\nsecond\nthe begin of the third"); err != nil {
			t.Fatal(err)
		}
		read() // it has the lines
		cancel()
		code := <-ended
		if !alive {
			if code != exitFailed || !strings.Contains(diag.String(), "3 lines that were read are not acknowledged") {
				t.Errorf("exit code %d: %s", code, &diag)
			}
			continue
		}
		if code != exitInterrupted || !strings.Contains(diag.String(), "3 lines") {
			t.Errorf("exit code %d: %s", code, &diag)
		}
		_, lines, _ := stele(t, "query", `{app="shop"}`, "-o", "raw", "--addr", addr)
		if strings.Count(lines, "\n") != 3 {
			t.Errorf("the store has %q", lines)
		}
	}
}

// Standard input is a source of the server, in which a batch is known however late it is sent
// again, and which is forgotten at the end.
func TestPushOfStandardInputIsASource(t *testing.T) {
	var mu sync.Mutex
	var pushed, forgotten []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodPost:
			source, _ := url.PathUnescape(r.Header.Get("X-Stele-Source"))
			if pushed = append(pushed, source); len(pushed) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		case r.Method == http.MethodDelete:
			forgotten = append(forgotten, r.FormValue("name"))
		default:
			fmt.Fprint(w, `{"known":false}`)
		}
	}))
	defer server.Close()
	var out, diag lockedBuffer
	code := execute(t.Context(), []string{"push", "-", "--label", "app=shop", "--addr", server.URL}, strings.NewReader("a line\n"), &out, &diag)
	if code != exitOK || len(pushed) != 2 || pushed[0] == "" || pushed[0] != pushed[1] || len(forgotten) != 1 || forgotten[0] != pushed[0] {
		t.Errorf("exit code %d: pushed %q, forgotten %q: %s", code, pushed, forgotten, &diag)
	}
}

func TestTooFewDescriptors(t *testing.T) {
	err := descriptors(&os.PathError{Op: "open", Path: "app.log", Err: syscall.EMFILE})
	if !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "takes two descriptors") {
		t.Error(err)
	}
	if err := descriptors(os.ErrNotExist); err != os.ErrNotExist {
		t.Error(err)
	}
}

// A toldReader tells when it is asked for text.
type toldReader struct {
	r     *os.File
	asked chan struct{}
}

func (r *toldReader) Read(p []byte) (int, error) {
	select {
	case r.asked <- struct{}{}:
	default:
	}
	return r.r.Read(p)
}

func TestLineCutter(t *testing.T) {
	c := lineCutter{most: 4}
	var got []string
	for i, piece := range []string{"ab", "cd", "\nab", "cdef", "g\r", "\n\n", "xyzw\r", "\nlast"} {
		for _, line := range c.lines([]byte(piece), i == 7) {
			got = append(got, string(line))
		}
	}
	if want := "abcd|abcd|efg||xyzw|last"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// A program that writes a line at a time does not make each line hold the memory of a
// large read.
func TestShortReadsHoldLittle(t *testing.T) {
	batches := make(chan [][]byte)
	go func() {
		defer close(batches)
		if err := readBatches(t.Context(), io.MultiReader(strings.NewReader("a\n"), strings.NewReader("b\n")), 1<<20, 1<<10, batches); err != nil {
			t.Error(err)
		}
	}()
	for lines := range batches {
		for _, l := range lines {
			if cap(l) > 1<<10 {
				t.Errorf("the line %q holds %d bytes", l, cap(l))
			}
		}
	}
}
