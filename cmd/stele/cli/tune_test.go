package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/tuning"
)

func TestTune(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("disk", 0o755); err != nil {
		t.Fatal(err)
	}
	p, out, why := tuneWrites(t, 6*time.Second)
	for _, longer := range []time.Duration{6 * time.Second, 20 * time.Second, 60 * time.Second} {
		if why == "" {
			break
		}
		t.Log(why) // as it may be on a busy machine
		p, out, why = tuneWrites(t, longer)
	}
	if why != "" {
		t.Error(why)
	}
	for _, f := range p.Figures {
		if !strings.HasPrefix(f.For, "write.") || f.Value <= 0 || !strings.Contains(out, f.Name) {
			t.Errorf("figure %+v", f)
		}
	}
	for _, want := range []string{"write.way: ", "write.sync: ", "16 MiB in writes", "In a program:|Nothing was found", "Profile: disk/" + profile.FileName} {
		some := false
		for w := range strings.SplitSeq(want, "|") {
			some = some || strings.Contains(out, w)
		}
		if !some {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "wal.sync") {
		t.Errorf("more than was asked for:\n%s", out)
	}
	r, err := readRun(t.Context(), "run.json", nil)
	if err != nil || r.Seed != 7 || len(r.Results) == 0 {
		t.Errorf("run %+v, %v", r, err)
	}
	if left, _ := filepath.Glob("disk/*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if left, _ := filepath.Glob("disk/.*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// tuneWrites tunes the directory disk. why is "" unless the machine was too slow:
// there are no figures, or the budget was not kept.
func tuneWrites(t *testing.T, budget time.Duration) (p *profile.Profile, out, why string) {
	t.Helper()
	begun := time.Now()
	code, out, diag := stele(t, "tune", "disk", "--budget", budget.String(), "--only", "write", "--json", "run.json", "--progress", "none", "--seed", "7")
	ended := time.Now()
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	p, err := profile.Load("disk")
	if err != nil {
		t.Fatal(err)
	}
	// The time is rounded to seconds.
	if abs, _ := filepath.Abs("disk"); p.Dir != abs || p.FileSystem == "" || p.Made.Before(begun.Add(-time.Second)) || p.Made.After(ended.Add(time.Second)) {
		t.Errorf("the profile is of %q on %q at %v", p.Dir, p.FileSystem, p.Made)
	}
	if budget <= 6*time.Second && !strings.Contains(out, "the budget does not suffice") {
		t.Errorf("all fitted into %v:\n%s", budget, out)
	}
	switch took := ended.Sub(begun); {
	case len(p.Figures) == 0:
		why = fmt.Sprintf("no figures in %v:\n%s", budget, out)
	case took > budget+10*time.Second: // for cleaning
		why = fmt.Sprintf("a budget of %v took %v", budget, took)
	}
	return p, out, why
}

// Standard output is the profile and nothing else.
func TestTuneToStandardOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, diag := stele(t, "tune", "--budget", "5s", "--only", "header", "--out", "-", "--progress", "none")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	if err := os.WriteFile("p.json", []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := profile.Load("p.json"); err != nil {
		t.Error(err)
	}
	if !strings.Contains(diag, "header.strategy") {
		t.Errorf("the text is nowhere: %s", diag)
	}
	if _, err := os.Stat(profile.FileName); err == nil {
		t.Error("a profile was written besides")
	}
}

// A run that is interrupted at once says so, and leaves an existing profile as it is.
func TestTuneInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(profile.FileName, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, diag bytes.Buffer
	code := execute(ctx, []string{"tune", "--progress", "none"}, strings.NewReader(""), &out, &diag)
	if code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, diag.String())
	}
	if out.Len() > 0 || !strings.Contains(diag.String(), "before anything was measured") {
		t.Errorf("%s%s", out.String(), diag.String())
	}
	if data, err := os.ReadFile(profile.FileName); err != nil || string(data) != "old" {
		t.Errorf("the profile is now %q, %v", data, err)
	}
	if left, _ := filepath.Glob("stele-bench-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTuneDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	const first = "tune/header.strategy" // in the first line of progress
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	diag := untilSaid{text: first, then: cancel}
	execute(ctx, []string{"tune", "--dry-run", "--only", "header", "--progress", "plain"}, strings.NewReader(""), &out, &diag)
	if left, _ := filepath.Glob("*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if !strings.Contains(diag.String(), first) {
		t.Errorf("no progress: %s", diag.String())
	}
}

// untilSaid calls then when text was written to it.
type untilSaid struct {
	bytes.Buffer
	text string
	then func()
}

func (u *untilSaid) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if strings.Contains(u.String(), u.text) {
		u.then()
	}
	return n, err
}

func TestTuneBadCalls(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("full/"+profile.FileName, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("readonly", 0o555); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call, want string
		code       int
	}{
		{"nowhere", "nowhere", exitFailed},
		{"file", "file", exitFailed},
		{"full", profile.FileName, exitFailed},
		{"readonly", "permission denied", exitFailed},
		{". .", "DIR: 2 arguments; want 0 or 1", exitUsage},
		{"--fast", "fast", exitUsage},
		{"--budget 1s", "--budget: 1s; want 5s or more", exitUsage},
		{"--budget -2m", "--budget", exitUsage},
		{"--budget soon", "budget", exitUsage},
		{"--only wal,disk", `--only: "disk"; want wal, write, read, create or header`, exitUsage},
		{"--appenders 7", "want one of [1 16 64 256]", exitUsage},
		{"--out a/b.json", "--out: \"a/b.json\"; want a FILE in a directory that can be written", exitUsage},
		{"--out file/b.json", "not a directory", exitUsage},
		{"--json nowhere/b.json", "nowhere", exitUsage},
		{"--out x.json --dry-run", "want one of them", exitUsage},
		{"--out - --json -", "standard output", exitUsage},
		{"--progress loud", "--progress", exitUsage},
	} {
		if c.call == "readonly" && os.Geteuid() == 0 {
			continue // root writes everywhere
		}
		begun := time.Now()
		code, _, diag := stele(t, append([]string{"tune"}, strings.Fields(c.call)...)...)
		if code != c.code || !strings.Contains(diag, c.want) {
			t.Errorf("stele tune %s: exit code %d, want %d; standard error %q, want %q in it", c.call, code, c.code, diag, c.want)
		}
		if time.Since(begun) > time.Minute { // it would measure for two
			t.Errorf("stele tune %s: measured before it refused", c.call)
		}
	}
}

// Two minutes are enough for all choices.
func TestTunePlanFitsItsBudget(t *testing.T) {
	all := tuning.Choices(0)
	if kept := affordable(all, 2*time.Minute); len(kept) != len(all) {
		t.Errorf("two minutes have room for %d of %d choices", len(kept), len(all))
	}
	few := affordable(all, 30*time.Second)
	if len(few) == 0 || len(few) == len(all) || few[0].Field != all[0].Field {
		t.Errorf("half a minute has room for %d of %d choices", len(few), len(all))
	}
	if len(affordable(all, time.Second)) != 1 {
		t.Error("not even one")
	}
}

// The text names a choice that does not fit the budget, and the flags that help.
func TestTuneTellsWhatItLeftOut(t *testing.T) {
	o := tuneFlags{dir: t.TempDir(), dry: true}
	all := tuning.Choices(0)
	r := &run.Run{Places: []run.Place{{Name: "d"}}}
	var out, diag bytes.Buffer
	if code := o.finish(all, all[:1], r, &out, &diag); code != exitOK {
		t.Errorf("exit code %d: %s", code, diag.String())
	}
	if !strings.Contains(out.String(), "header.strategy: the default, clone, kernel-copy or copy: the first that the file system has and the size is for\n  the budget does not suffice for it: raise --budget") {
		t.Errorf("%s", out.String())
	}
}

// An interruption before the first block leaves neither a profile nor a run. A later one
// prints the decisions, and writes the run.
func TestTuneInterruptedEarlyAndLate(t *testing.T) {
	dir := t.TempDir()
	o := tuneFlags{dir: dir, json: filepath.Join(dir, "run.json")}
	r := &run.Run{Places: []run.Place{{Name: "d"}}, Partial: &run.Partial{Cause: "interrupted"}}
	var out, diag bytes.Buffer
	if code := o.finish(tuning.Choices(0), nil, r, &out, &diag); code != exitInterrupted || !strings.Contains(diag.String(), "before anything was measured") || out.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), diag.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("written: %v, %v", left, err)
	}
	r.Results = []*run.Result{{ID: "tune/x", Blocks: []run.Block{{Variant: "v", Role: run.RoleTimed, Ops: 1, Wall: 1}}}}
	if code := o.finish(tuning.Choices(0), nil, r, &out, &diag); code != exitInterrupted ||
		!strings.Contains(out.String(), "wal.sync: the default") || !strings.Contains(out.String(), "Interrupted: no profile was written") {
		t.Errorf("exit code %d: %s%s", code, out.String(), diag.String())
	}
	if _, err := os.Stat(o.json); err != nil {
		t.Error(err)
	}
}

func TestTuneTextOfAProfile(t *testing.T) {
	for _, c := range []struct {
		p    profile.Profile
		want []string
	}{
		{profile.Profile{}, []string{"Nothing was found to be better"}},
		{profile.Profile{WAL: profile.WAL{Sync: "dsync"}}, []string{"profile.Load", "wal.Options{Profile: p}"}},
		{profile.Profile{Read: profile.Read{Readahead: 1 << 20}}, []string{"profile.Load", "fileio.Options{Profile: p}"}},
		{profile.Profile{Read: profile.Read{Parallel: 8}}, []string{"goroutines that read: 8"}},
		{profile.Profile{Write: profile.Write{Way: "direct"}}, []string{"profile.Load", "fileio.WriterOptions{Profile: p}"}},
		{profile.Profile{Create: profile.Create{Shards: 16, Goroutines: 4}}, []string{"newfile.Options{Shards: 16}", "make files: 4"}},
		{profile.Profile{Header: profile.Header{Strategy: "kernel-copy"}}, []string{"header.Options{Strategy: header.KernelCopy"}},
	} {
		var b bytes.Buffer
		text := tuneText{w: &b}
		text.use(&c.p)
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%+v: %q is missing in\n%s", c.p, want, b.String())
			}
		}
		if lines := strings.Count(b.String(), "\n    "); len(c.want) > 1 && lines != len(c.want) {
			t.Errorf("%+v: %d lines:\n%s", c.p, lines, b.String())
		}
	}
}

func TestTuneFigures(t *testing.T) {
	for _, c := range []struct {
		f           profile.Figure
		time, ratio string
	}{
		{profile.Figure{Value: 1234}, "1.23 us [?]", ""},
		{profile.Figure{Value: 1234, Lo: 1200, Hi: 1260, Ratio: 0.48}, "1.23 us [1.20, 1.26]", "0.48x [?]"},
		{profile.Figure{Value: 2e9, Ratio: 0.48, RatioLo: 0.46, RatioHi: 0.51}, "2.00 s [?]", "0.48x [0.46, 0.51]"},
	} {
		if interval(c.f) != c.time || ratio(c.f) != c.ratio {
			t.Errorf("%+v: %q, %q", c.f, interval(c.f), ratio(c.f))
		}
	}
}
