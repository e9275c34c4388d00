package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
)

// jobFile writes jobs.ini as the help of bench io shows it.
func jobFile(t *testing.T) {
	t.Helper()
	_, text, _ := strings.Cut(benchIOUsage, "  [global]\n")
	text, _, _ = strings.Cut(text, "\nExamples:")
	if err := os.WriteFile("jobs.ini", []byte("[global]\n"+text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Jobs from a file are measured side by side; the run has what each survives, the
// figures are shown, and nothing stays behind.
func TestBenchIO(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page cache is dropped on Linux only")
	}
	t.Chdir(t.TempDir())
	const text = "[global]\nsize = 1M\nrw = randwrite\n[never]\n[each]\nfsync = 1\n[tenth]\nfsync = 10\n[reads]\nrw = randread\n"
	if err := os.WriteFile("x.ini", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, diag := stele(t, "bench", "io", "x.ini", "--rounds", "6", "--ops", "20", "--json", "run.json", "--html", "run.html", "--progress", "plain")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	for _, want := range []string{"ops/s", "p99.9", "each", "tenth"} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
	if !strings.Contains(diag, "writes the file of the jobs") {
		t.Errorf("no progress of the preparation: %s", diag)
	}
	r, err := readRunFrom("run.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	res := r.Results[0]
	for name, want := range map[string]string{"never": "kill", "each": "power", "tenth": "kill"} {
		if got := res.Variant(name).Promise.String(); !strings.HasPrefix(got, want+", ") {
			t.Errorf("%s promises %q, want %s", name, got, want)
		}
	}
	for _, b := range res.Blocks {
		if b.Role == run.RoleTimed && (b.Ops != 20 || b.Metrics["bytes_per_second"] <= 0) {
			t.Errorf("a block of %s: %d operations, %v bytes a second", b.Variant, b.Ops, b.Metrics["bytes_per_second"])
		}
	}
	if left, err := filepath.Glob("stele-bench-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// The figures say what survives in the place, not only what the job promises.
func TestSurvivesHere(t *testing.T) {
	power, kill := run.Writes(durability.Power, durability.Torn), run.Writes(durability.Kill, durability.Torn)
	for want, v := range map[string]run.VariantResult{
		"survives a power cut":                   {Promise: power, Here: power},
		"survives kill -9, not a power cut here": {Promise: power, Here: kill, Capped: []string{run.CapNoJournal}},
		"writes nothing":                         {Promise: run.WritesNothing(), Here: run.WritesNothing()},
	} {
		if got := survivesHere(&v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A long name does not push the figures out of the window.
func TestWriteColumns(t *testing.T) {
	var out strings.Builder
	long := strings.Repeat("long ", 9)
	writeColumns(&out, [][]string{{"job", "p50", "survives"}, {"a", "1 ms", "kill -9"}, {long, "12 ms", "power cut"}})
	if want := "job    p50  survives\na     1 ms  kill -9\n" + long + "\n     12 ms  power cut\n"; out.String() != want {
		t.Errorf("\n%s\nwant\n%s", out.String(), want)
	}
}

// A file of the user is not written without leave.
func TestBenchIOSparesFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	content := strings.Repeat("precious", 8<<10)
	if err := os.WriteFile("mine", []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	same := func() bool {
		data, err := os.ReadFile("mine")
		return err == nil && string(data) == content
	}
	run := func(args ...string) (int, string) {
		code, _, diag := stele(t, append([]string{"bench", "io", "--file", "mine", "--rounds", "2", "--ops", "9", "--html", "run.html", "--progress", "none"}, args...)...)
		return code, diag
	}
	if code, diag := run("--rw", "randwrite"); code != exitUsage || !strings.Contains(diag, "would write to mine; want --overwrite") || !same() {
		t.Errorf("exit code %d: %s; the file is as it was: %v", code, diag, same())
	}
	if code, diag := run("--rw", "randread", "--size", "1M"); code != exitUsage || !strings.Contains(diag, "--size: 1048576 bytes; want at most the 64 KiB of mine") {
		t.Errorf("exit code %d: %s", code, diag)
	}
	if code, diag := run("--rw", "append", "--overwrite"); code != exitUsage || !strings.Contains(diag, `--rw: "append"; want another kind with --file`) || !same() {
		t.Errorf("exit code %d: %s; the file is as it was: %v", code, diag, same())
	}
	if runtime.GOOS != "linux" {
		return
	}
	if code, diag := run("--rw", "randread"); code != exitOK || !same() {
		t.Errorf("exit code %d: %s; the file is as it was: %v", code, diag, same())
	}
	if code, diag := run("--rw", "randwrite", "--overwrite"); code != exitOK || same() {
		t.Errorf("exit code %d: %s; the file is as it was: %v", code, diag, same())
	}
	if st, err := os.Stat("mine"); err != nil || st.Size() != int64(len(content)) {
		t.Errorf("%v, %v; want its size as it was", st, err)
	}
}

// The list says what jobs survive; they belong to no claim.
func TestBenchIOList(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, diag := stele(t, "bench", "io", "--list", "--rw", "randwrite", "--job", "each: --fsync 1", "--job", "never:")
	if code != exitOK || !strings.HasPrefix(out, "io\n") || !strings.Contains(out, "power, torn") || !strings.Contains(out, "kill, torn") || strings.Contains(out, "claim") {
		t.Errorf("exit code %d: %s\n%s", code, diag, out)
	}
}

// The time of a block is that of all blocks by their number where --time gives it; more
// rounds alone do not make blocks shorter.
func TestBlockTimeOfJobs(t *testing.T) {
	for _, c := range []struct {
		args   []string
		rounds int
		want   time.Duration
	}{
		{nil, 20, 250 * time.Millisecond},
		{nil, 80, 250 * time.Millisecond},
		{[]string{"--time", "10s"}, 20, 500 * time.Millisecond},
		{[]string{"--time", "10s"}, 100, 100 * time.Millisecond},
	} {
		var b benchFlags
		d := newDescribed("stele bench io", c.args, &b)
		f := newFlags(d.name, "")
		d.timeFlag(f, "`TIME`")
		b.take(f, jobFlags...)
		b.rounds = c.rounds
		if err := f.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if _, err := d.check(f); err != nil || b.blockTime != c.want {
			t.Errorf("%q, %d rounds: blocks of %v, %v; want %v", c.args, c.rounds, b.blockTime, err, c.want)
		}
	}
}

func TestBenchIOBadCalls(t *testing.T) {
	t.Chdir(t.TempDir())
	for call, want := range map[string]string{
		"--rw randtrim":                  `--rw: "randtrim"; want read, write, randread`,
		"--depth 4 --engine sync":        "depth: 4; want 1 with engine sync",
		"--job 'a: --depth x'":           `--depth: "x"; want a whole number`,
		"--job 'a: deep'":                `argument: "deep"; want flags of a job`,
		"--iodepth 4":                    `--iodepth: "4"; want depth in place of fio's iodepth`,
		"--job 'a: --bs 8k'":             `--bs: "8k"; want block in place of fio's bs`,
		"--job 'a:' --job 'a:'":          `job: "a"; want each name once`,
		"--job 'a: --rate 5' --job 'b:'": "b: rate: 0; want a rate for all jobs, or for none",
		"--ops 5 --time 1s":              "--ops and --time: want one of them",
		"--time 1ms":                     "--time: 1ms; want 20ms or more",
		"--cpus 0-":                      `--cpus: "0-"; want numbers and ranges such as 0,2-3`,
		"--overwrite":                    "--overwrite: want --file with it",
		"--file x --dir y":               "--file and --dir: want one of them",
		"--file . --rw append":           `--file: "."; want a file or a block device`,
		"--file nowhere":                 "nowhere",
		"nowhere.ini":                    "nowhere.ini",
		"a b":                            "JOBFILE: 2 arguments; want 0 or 1",
		"--rounds 0":                     "--rounds: 0; want 1 or more",
	} {
		code, _, diag := stele(t, append([]string{"bench", "io"}, words(call)...)...)
		if code != exitUsage || !strings.Contains(diag, want) {
			t.Errorf("%s: exit code %d, %q; want %q in it", call, code, diag, want)
		}
	}
	// With --against bench io is a gate: 1 and 2 are verdicts there.
	for _, call := range []string{"--against ./nowhere --rw randtrim", "--against ./nowhere --rounds 0", "--against ./nowhere --size 1M"} {
		if code, _, diag := stele(t, append([]string{"bench", "io"}, words(call)...)...); code != run.Broken.ExitCode() {
			t.Errorf("%s: exit code %d, %q; want %d", call, code, diag, run.Broken.ExitCode())
		}
	}
	code, _, diag := stele(t, "bench", "io", "--size", "900000T", "--html", "x.html", "--progress", "none")
	if runtime.GOOS == "linux" && (code == exitOK || !strings.Contains(diag, "free")) {
		t.Errorf("a file larger than the disk: exit code %d, %s", code, diag)
	}
	if _, err := os.Stat("x.html"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a report of nothing: %v", err)
	}
}
