package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestResults(t *testing.T) {
	got, err := results(`goos: linux
BenchmarkCreate/way=std
BenchmarkCreate/way=std     	     100	     12.5 ns/op	  3.00 MB/s	      48 B/op	       2 allocs/op
BenchmarkOther 7 8 ns/op
PASS
`)
	want := []sample{
		{name: "BenchmarkCreate/way=std", n: 100, ns: 12.5, bytes: 48, allocs: 2},
		{name: "BenchmarkOther", n: 7, ns: 8},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := results("BenchmarkX 7 many ns/op\n"); err == nil {
		t.Error("ns/op that is no number is accepted")
	}
}

func TestExactly(t *testing.T) {
	if got, want := exactly("BenchmarkA/size=1.5k/b"), `^BenchmarkA$/^size=1\.5k$/^b$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCPUEach(t *testing.T) {
	for _, c := range []struct {
		many, one sample
		want      float64
	}{
		{sample{n: 11, cpu: 1500}, sample{n: 1, cpu: 500}, 100},
		{sample{n: 1, cpu: 1500}, sample{n: 1, cpu: 500}, 0},
		{sample{n: 11, cpu: 400}, sample{n: 1, cpu: 500}, 0},
	} {
		if got := cpuEach(c.many, c.one); got != c.want {
			t.Errorf("%+v, %+v: %v, want %v", c.many, c.one, got, c.want)
		}
	}
}

// Pairs of equal code with a tenth of noise are marked in none of 300 runs; code
// that takes a tenth longer is, with enough pairs.
func TestMarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	series := func(slower float64) (pairs []pair) {
		for range 20 {
			noise := func() float64 { return 100 * (1 + 0.1*rng.NormFloat64()) }
			pairs = append(pairs, pair{sample{ns: noise()}, sample{ns: slower * noise()}})
		}
		return pairs
	}
	marked := func(slower float64) bool {
		l := leaf{pairs: series(slower)}
		if !l.suspect(1.03, rng) {
			return false
		}
		l.first, l.pairs = l.pairs, series(slower)
		_, m := l.verdict(1.03, rng)
		return m
	}
	for range 300 {
		if marked(1) {
			t.Fatal("equal code is marked")
		}
	}
	if !marked(1.3) {
		t.Error("code that takes 1.3 times as long is not marked")
	}
}

// A whole run in a small repository: what became slower is marked, and what is
// on one side only is named.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, k := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} { // as in a hook
		t.Setenv(k, "")
		os.Unsetenv(k)
	}
	repo, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	source := func(takes string, more string) string {
		return fmt.Sprintf(`package p

import ("os"; "testing"; "time")

func BenchmarkSame(b *testing.B) {
	for b.Loop() { time.Sleep(time.Millisecond) }
}

func BenchmarkOther(b *testing.B) {
	b.Run("a=1", func(b *testing.B) {
		os.WriteFile(b.TempDir()+"/f", nil, 0o666)
		for b.Loop() { time.Sleep(%s) }
	})
}

func Benchmark%s(b *testing.B) { for b.Loop() {} }
`, takes, more)
	}
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write("go.mod", "module example.org/m\n\ngo 1.26\n")
	write("p/p_test.go", source("time.Millisecond", "Gone"))
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "before")
	write("p/p_test.go", source("100*time.Millisecond", "New"))
	write("q/q_test.go", source("0", "New"))

	write("p/late_test.go", `package p

import ("flag"; "os"; "testing"; "time")

func BenchmarkLate(b *testing.B) {
	made := os.Getenv("STELE_BENCH_SHARED") + "/made"
	if _, err := os.Stat(made); err != nil && flag.Lookup("test.benchtime").Value.String() != "1x" {
		b.Fatal("what an earlier process has made is gone: ", err)
	}
	if err := os.WriteFile(made, nil, 0o666); err != nil {
		b.Fatal(err)
	}
	for b.Loop() { time.Sleep(time.Microsecond) }
}
`)

	t.Chdir(repo)
	t.Setenv("GOFLAGS", "")
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"-rounds", "6", "-benchtime", "2x", "-dir", dir, "-with", "p/late_test.go", "p", "./q"}, &out, &errs)
	said := out.String()
	if code != 1 || !strings.Contains(said, "SLOWER") {
		t.Errorf("exit code %d\n%s%s", code, said, errs.String())
	}
	for line := range strings.Lines(said) {
		if strings.Contains(line, "SLOWER") && !strings.Contains(line, "Other/a=1") {
			t.Errorf("marked: %s", line)
		}
	}
	for _, want := range []string{"./q: not in HEAD", "BenchmarkGone: only before", "BenchmarkNew: only after"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if !strings.Contains(said, "Late") || strings.Contains(said, "Late: only") {
		t.Errorf("the benchmark of the copied file was not compared:\n%s", said)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	ctx, stop := context.WithCancel(context.Background())
	stop()
	if code := run(ctx, []string{"./p"}, &out, &errs); code != 130 {
		t.Errorf("interrupted: exit code %d", code)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"-rounds", "0", "./p"}, {"-bench", "(", "./p"}, {"-mark", "-1", "./p"}, {"-no"}, {"-with", "../x_test.go", "./p"}, {"-with", "p.go", "./p"}} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), args, &out, &errs); code != 2 || errs.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, errs.String())
		}
	}
}
