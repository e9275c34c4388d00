package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// steleArgs, in the environment, makes this test program the program stele.
const steleArgs = "STELE_TEST_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(steleArgs); args != "" {
		if n, err := strconv.ParseInt(os.Getenv(steleCheckpoint), 10, 64); err == nil {
			checkpointBytes = n
		}
		os.Exit(execute(interruptible(), strings.Split(args, "\n"), os.Stdin, os.Stdout, os.Stderr))
	}
	serve()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // each block is a process, and would wait for a second
	os.Exit(m.Run())
}

// stele calls the program as a person would.
func stele(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, diag bytes.Buffer
	code = execute(t.Context(), args, strings.NewReader(""), &out, &diag)
	return code, out.String(), diag.String()
}

// inMemory changes into a fresh directory, in memory where that can be: D8 makes thousands
// of directories.
func inMemory(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "stele-*"); err == nil {
		t.Cleanup(func() { os.RemoveAll(shm) })
		dir = shm
	}
	t.Chdir(dir)
}

// measured changes into a fresh directory that holds run.json, a short run of one
// experiment, and copies of it by the names of the examples of compare.
func measured(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	code, _, diag := stele(t, "bench", "mkdir", "--filter", "depth=1$", "--rounds", "8", "--block-time", "5ms",
		"--json", "run.json", "--html", "run.html", "--gobench", "run.txt", "--markdown", "run.md", "--progress", "none")
	if code != exitOK {
		t.Fatalf("bench: exit code %d: %s", code, diag)
	}
	data, err := os.ReadFile("run.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("runs", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runs/one.json", "old.json", "new.json", "main-1.json", "main-2.json", "new-1.json", "new-2.json"} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// slowed writes name as a copy of run.json in which every timed block took
// factor times as long, those of baselines apart, or, if even, in which each operation
// took factor times 20 us, so that other load on the machine does not show.
func slowed(t *testing.T, name string, factor float64, even bool) {
	t.Helper()
	r, err := readRunFrom("run.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Results {
		for i := range res.Blocks {
			b := &res.Blocks[i]
			wall := float64(b.Wall)
			if even {
				wall = 20_000 * float64(b.Ops)
			}
			if !res.Variant(b.Variant).Baseline {
				wall *= factor
			}
			b.Wall = run.Nanos(wall)
		}
	}
	var buf bytes.Buffer
	if err := r.Write(&buf); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, buf.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// words splits a call at spaces outside of single quotes.
func words(call string) []string {
	var args []string
	for i, part := range strings.Split(call, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

// Every example of every help text is a call that works. Those that would
// measure for minutes, or need root, are checked up to the measuring.
func TestHelpExamples(t *testing.T) {
	measured(t)
	sources(t)
	aLog(t)
	aStore(t)
	jobFile(t)
	appLog(t)
	theServerOfExamples(t)
	for _, c := range append(commands(), command{name: ""}, command{name: "bench io"}, command{name: "bench cmd"}) {
		code, help, _ := stele(t, append(strings.Fields(c.name), "--help")...)
		if c.name == "" {
			code, help, _ = stele(t)
		}
		if code != exitOK {
			t.Errorf("%s --help: exit code %d", c.name, code)
		}
		_, examples, _ := strings.Cut(help, "Examples:\n")
		for line := range strings.Lines(examples) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
			line = strings.TrimPrefix(line, "sudo ")
			call, ok := strings.CutPrefix(line, "stele ")
			if !ok {
				break
			}
			args := words(call)
			if args[0] == "bench" || args[0] == "tune" {
				args = append(args, "--list")
			}
			if goesOn(args) {
				untilItRuns(t, args)
				continue
			}
			code, out, diag := stele(t, args...)
			verdict := args[0] == "compare" && code == 2 || args[0] == "probe" && (code == exitNotHonest || code == exitCannotTell)
			if code != exitOK && !verdict {
				t.Errorf("%s: exit code %d: %s", line, code, diag)
			}
			if out == "" && !strings.Contains(call, "--") {
				t.Errorf("%s prints nothing", line)
			}
		}
		if c.name != "version" && !strings.Contains(help, "Examples:\n  stele ") {
			t.Errorf("the help of %q shows no examples", c.name)
		}
	}
}

// theServerOfExamples serves what the examples of push, query and the like ask at the default address:
// app.log, of which a line has a timeout.
func theServerOfExamples(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if err := os.WriteFile("serve.yaml", []byte("retention: 30d\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	t.Setenv("STELE_ADDR", "http://"+listen)
	start(t, "serve", "--data", t.TempDir(), "--listen", listen)
	until(t, "the server is ready", func() bool { return isServed("http://" + listen + "/ready") })
	aTimeout(t)
	t.Setenv("STELE_LISTEN", freeAddress(t)) // of the examples of serve
}

// aTimeout pushes a line with a timeout.
func aTimeout(t *testing.T) {
	t.Helper()
	var diag bytes.Buffer
	if code := execute(t.Context(), words("push - --label app=shop"), strings.NewReader("level=error msg=timeout\n"), io.Discard, &diag); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &diag)
	}
}

// goesOn reports whether a call goes on until it is ended.
func goesOn(args []string) bool {
	return args[0] == "tail" || args[0] == "serve" && !slices.Contains(args, "--check-config") || slices.Contains(args, "--follow")
}

// untilItRuns ends a call once it does what it is for.
func untilItRuns(t *testing.T, args []string) {
	t.Helper()
	followed := fmt.Sprintf("followed %q at %d", args, time.Now().UnixNano()) // by no call before it
	switch args[0] {
	case "tail":
		aTimeout(t) // the one before may be too long ago
	case "push":
		f, err := os.OpenFile("app.log", os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(followed + "\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, args...)
	until(t, strings.Join(args, " ")+" runs", func() bool {
		switch args[0] {
		case "serve":
			return isServed("http://" + os.Getenv("STELE_LISTEN") + "/ready")
		case "push":
			_, out, _ := stele(t, "query", fmt.Sprintf("{app=\"shop\"} |= %q", followed))
			return out != ""
		}
		return strings.Contains(p.out.String(), "timeout")
	})
	if code := p.terminate(); code != exitOK {
		t.Errorf("stele %q: exit code %d: %s", args, code, &p.diag)
	}
}

func TestBenchWritesEveryOutput(t *testing.T) {
	measured(t)
	for name, want := range map[string]string{
		"run.json": `"schema"`, "run.html": "<!doctype html>", "run.txt": "ns/op", "run.md": "| ",
	} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(strings.ToLower(string(data)), want) {
			t.Errorf("%s does not contain %q", name, want)
		}
	}
	left, err := filepath.Glob("stele-bench-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if part, _ := filepath.Glob("*.part"); len(part) > 0 {
		t.Errorf("left behind: %v", part)
	}
}

func TestJSONToStandardOutputIsOnlyJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, diag := stele(t, "bench", "mkdir", "--filter", "depth=1$", "--rounds", "6", "--block-time", "2ms", "--json", "-", "--html", "x.html", "--progress", "json")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	if !json.Valid([]byte(out)) {
		t.Errorf("standard output is not JSON: %.200s", out)
	}
	first := ""
	for line := range strings.Lines(diag) {
		// Another package's test may just have killed a run of its own.
		if !strings.Contains(line, "after a run that was killed:") {
			first = line
			break
		}
	}
	var e lab.Event
	if err := json.Unmarshal([]byte(first), &e); err != nil || e.Kind == "" {
		t.Errorf("the first line of progress is no event: %q: %v", first, err)
	}
}

func TestCompareIsAGate(t *testing.T) {
	measured(t)
	slowed(t, "even.json", 1, true)
	slowed(t, "slow.json", 2, true)
	slowed(t, "slight.json", 1.05, false)
	if err := os.WriteFile("torn.json", []byte(`{"schema":"stele.run/1","results":[`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("other.json", []byte(`{"hello":"world"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new string
		codes    string
	}{
		{"even.json", "slow.json", "1"},
		{"slow.json", "even.json", "0"},
		{"even.json", "even.json", "0"},
		{"run.json", "run.json", "0"},
		{"run.json", "slight.json", "012"}, // depends on the noise, but is never broken
		{"run.json", "torn.json", "3"},
		{"run.json", "other.json", "3"},
		{"run.json", "missing.json", "3"},
	} {
		code, out, diag := stele(t, "compare", c.old, c.new)
		if !strings.Contains(c.codes, fmt.Sprint(code)) {
			t.Errorf("compare %s %s: exit code %d, want one of %s\n%s%s", c.old, c.new, code, c.codes, out, diag)
		}
		if code == 3 && diag == "" {
			t.Errorf("compare %s %s: broken, and nothing says why", c.old, c.new)
		}
	}
}

// A canceller cancels once it is written what it waits for.
type canceller struct {
	bytes.Buffer
	awaits string
	cancel func()
}

func (c *canceller) Write(p []byte) (int, error) {
	n, err := c.Buffer.Write(p)
	if strings.Contains(c.String(), c.awaits) {
		c.cancel()
	}
	return n, err
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	for awaits, kept := range map[string]bool{`"event":"pilot"`: false, `"event":"block"`: false, `"round":3`: true} {
		t.Chdir(t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		diag := &canceller{awaits: awaits, cancel: cancel}
		code := execute(ctx, []string{"bench", "D8", "--json", "run.json", "--block-time", "1ms", "--progress", "json"}, strings.NewReader(""), &out, diag)
		if code != exitInterrupted {
			t.Errorf("after %s: exit code %d, want %d: %s", awaits, code, exitInterrupted, diag.String())
		}
		left, _ := filepath.Glob("*")
		if !kept {
			if len(left) > 0 {
				t.Errorf("after %s: %q was written of nothing", awaits, left)
			}
			continue
		}
		r, err := readRunFrom("run.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Partial == nil || r.Results[0].Stopped != run.StoppedInterrupted {
			t.Errorf("the run is not marked partial: %+v, %q", r.Partial, r.Results[0].Stopped)
		}
		if len(left) < 2 {
			t.Errorf("after %s: only %q", awaits, left)
		}
	}
}

func TestBadCalls(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		call, want string
		code       int
	}{
		{"dance", "no command", exitUsage},
		{"bench nothing", `SUITE or CLAIM: "nothing"; want mkdir, newfile`, exitUsage},
		{"bench mkdir --rounds x", `--rounds: "x"; want a whole number`, exitUsage},
		{"bench mkdir --rounds -1", "--rounds: -1; want 1 or more", exitUsage},
		{"bench mkdir --rounds 0", "--rounds: 0; want 1 or more", exitUsage},
		{"bench mkdir --budget -5s", "--budget: -5s; want 0s or more", exitUsage},
		{"bench D1 --filter zzz", `--filter: "zzz"; want a part of the ID`, exitUsage},
		{"bench mkdir --fs tmpfs,tmpfs", "once", exitUsage},
		{"bench mkdir --json nowhere/x.json", "nowhere", exitUsage},
		{"bench mkdir --filter [", "--filter", exitUsage},
		{"bench mkdir --filter zzz", "--filter", exitUsage},
		{"bench mkdir --tolerance 7", "--tolerance: 7; want a share between 0 and 1", exitUsage},
		{"bench mkdir --test magic", `--test: "magic"; want bootstrap, welch or mannwhitney`, exitUsage},
		{"bench mkdir --progress loud", `--progress: "loud"; want auto, line, plain, json or none`, exitUsage},
		{"bench mkdir --json - --html -", "standard output", exitUsage},
		{"bench mkdir --dir nowhere", "nowhere", exitFailed},
		{"bench mkdir --fs ext5", `--fs: "ext5"; want `, exitUsage},
		{"bench mkdir --fs ext4 --image-size 2Q", `--image-size: "2Q"; want a size such as 4096, 512M or 2GiB`, exitUsage},
		{"report", "RUN.json: 0 arguments; want 1", exitUsage},
		{"report nowhere.json", "nowhere.json", exitFailed},
		{"compare one.json two.json", "stele compare: open one.json: no such file or directory\nstele compare: open two.json: ", 3},
		{"compare one.json", "stele compare: open one.json: ", 3},
		{"compare one.json -- --force", "NEW.json: \"--force\"; want flags before --", 3},
		{"compare -- one.json", "want at least one file on each side of --", 3},
		{"compare --history ./none", "no such file", 3},
		{"compare --history . x.json", "no file besides", 3},
		{"compare --history . --force", "--force: want none", 3},
		{"compare a.json b.json --svg x.svg", "--svg: want --history", 3},
		{"compare a b c", "or several files on each side of --", 3},
		{"bench --against ./none --rounds 0", "--rounds", 3},
		{"bench mkdir --against ./none", `--against: "./none"; want another build of this program: stat ./none`, 3},
		{"compare one.json two.json", "\nstele compare: open two.json: ", 3},
		{"probe nowhere", "nowhere", exitFailed},
		{"version 2", "version: 1 argument; want 0", exitUsage},
	} {
		code, _, diag := stele(t, strings.Fields(c.call)...)
		if code != c.code || !strings.Contains(diag, c.want) {
			t.Errorf("stele %s: exit code %d, want %d; standard error %q, want %q in it", c.call, code, c.code, diag, c.want)
		}
	}
}

// The program does not link package testing: its flags and its init do not
// belong in a command.
func TestLinksNoTesting(t *testing.T) {
	var diag bytes.Buffer
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	list.Stderr = &diag
	out, err := list.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("needs the go command: ", err)
	}
	if err != nil {
		t.Fatalf("go list -deps: %v\n%s", err, &diag)
	}
	if slices.Contains(strings.Fields(string(out)), "testing") {
		t.Error("stele links package testing; 'go list -deps' with -f {{.ImportPath}}{{.Imports}} finds the importer")
	}
}
