package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

const patient = "STELE_TEST_PATIENT"

// A run that was interrupted before its first block is no report, and no file.
func TestBenchInterruptedAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	b := benchFlags{Bench: Bench{Name: "stele bench"}, outputs: outputs{json: "run.json"}}
	r := &run.Run{Schema: run.Schema, Places: []run.Place{{Name: "d"}}, Partial: &run.Partial{Cause: "interrupted"}}
	var out, diag strings.Builder
	if code := b.finish(r, selection{}, false, &out, &diag); code != exitInterrupted || !strings.Contains(diag.String(), "before anything was measured") || out.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), diag.String())
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("written: %v, %v", left, err)
	}
}

// The first Ctrl-C lets the program end its work, the second ends it at once.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	if os.Getenv(patient) != "" {
		ctx := interruptible()
		fmt.Println("ready")
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond) // signals are let through right after
		fmt.Println("interrupted")
		time.Sleep(10 * time.Minute)
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent Ctrl-C alone on Windows")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecondInterruptEndsAtOnce$")
	cmd.Env = append(os.Environ(), patient+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "interrupted"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the program says %q, want %q", lines.Text(), want)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	// On a busy machine 100 ms were not enough for the program to let signals
	// through, and the second one was caught too: then another one ends it.
	begun := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Exited() {
				t.Errorf("the second signal did not end the program: %v", err)
			}
			return
		case <-time.After(5 * time.Second):
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("the second signal, and others since, did not end the program in %v", time.Since(begun))
		}
		cmd.Process.Signal(os.Interrupt) // it may have ended just now
	}
}

// report derives verdicts on claims again, with the tolerance it is given, and
// keeps those on claims that it does not know.
func TestReportJudgesClaimsAgain(t *testing.T) {
	inMemory(t)
	if code, _, diag := stele(t, "bench", "D8", "--rounds", "6", "--block-time", "2ms", "--json", "run.json", "--html", "x.html", "--progress", "none"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	change := func(f func(*run.Run)) {
		t.Helper()
		r, err := readRun(t.Context(), "run.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		f(r)
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("run.json", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var want string
	change(func(r *run.Run) {
		if len(r.Claims) != 1 || r.Claims[0].Verdict == "" {
			t.Fatalf("the claims of the run: %+v", r.Claims)
		}
		want = r.Claims[0].Verdict
		r.Claims[0].Verdict, r.Claims[0].Measured = "not judged again", "nothing"
		r.Claims = append(r.Claims, run.Claim{ID: "Z9", Verdict: "kept", Place: r.Claims[0].Place})
	})
	code, out, diag := stele(t, "report", "run.json")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	if strings.Contains(out, "not judged again") || !strings.Contains(out, "D8  "+want) || !strings.Contains(out, "Z9  kept") {
		t.Errorf("want D8 %s and Z9 kept in\n%s", want, out[strings.Index(out, "Claims"):])
	}
}

func TestListHasHeadings(t *testing.T) {
	_, out, _ := stele(t, "bench", "--list")
	headings := 0
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "" {
			headings++
		}
	}
	if !strings.Contains(out, "mkdir: Which way") || !strings.Contains(out, "claims: ") || headings < 3 {
		t.Errorf("%d headings in\n%.500s", headings, out)
	}
	if _, again, _ := stele(t, "bench", "D8", "--list"); strings.Count(again, "\nverdicts on claims\n") != 1 || strings.Contains(again, "mkdir: ") {
		t.Errorf("one claim lists\n%s", again)
	}
}

func TestUnknownToleranceIsOneError(t *testing.T) {
	measured(t)
	code, out, diag := stele(t, "compare", "run.json", "run.json", "--tolerance", "bogus=0.1")
	if code != 3 || strings.Count(diag, "\n") != 1 || !strings.Contains(diag, `no figure is named "bogus"`) || strings.Contains(out, "time") && strings.Contains(out, "os.MkdirAll") {
		t.Errorf("exit code %d\n%s%s", code, out, diag)
	}
}

func TestBenchWaits(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, diag := stele(t, "bench", "mkdir", "--filter", "depth=1$", "--waits", "--rounds", "1", "--block-time", "5ms", "--no-calibration", "--no-counting", "--html", "x.html", "--progress", "none")
	if code != exitOK || !strings.Contains(out, "Where goroutines are") {
		t.Errorf("exit code %d: %s\n%s", code, diag, out)
	}
	if runtime.GOOS == "linux" && !strings.Contains(out, "running Go code") {
		t.Errorf("no goroutine was seen running\n%s", out)
	}
}

// --trace shows where the time was spent, or why that is not known.
func TestBenchTrace(t *testing.T) {
	inMemory(t)
	code, out, diag := stele(t, "bench", "D8", "--trace", "--rounds", "1", "--block-time", "5ms", "--no-calibration", "--no-counting", "--html", "x.html", "--progress", "none")
	if code != exitOK || !strings.Contains(out, "Where goroutines are") || !strings.Contains(out, "Chains of waits") {
		t.Fatalf("exit code %d: %s\n%s", code, diag, out)
	}
	if runtime.GOOS != "linux" {
		return
	}
	missing := "times of system calls: n/a, time system calls"
	if timed := regexp.MustCompile(`(?m)^ +mkdirat +[0-9,]+ `); timed.MatchString(out) == strings.Contains(out, missing) {
		t.Errorf("mkdirat is timed, or it is said why not\n%s", out)
	}
}
