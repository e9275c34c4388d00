package catalog

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/tracetest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

var updateTraces = flag.Bool("update-traces", false, "write the golden traces anew")

func TestMain(m *testing.M) {
	if name, root := tracetest.Scenario(); name != "" {
		fmt.Print(runScenario(name, root))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A scenario is an operation on a directory that prepare has made. want are the
// lines that must be served after it, whatever failed, and more are those that
// it adds on success.
type scenario struct {
	name    string
	prepare func(t testing.TB, dir string) (want, more []string)
}

var scenarios = []scenario{
	{"publish", func(t testing.TB, dir string) (want, more []string) {
		o, _ := testOptions()
		s := open(t, dir, o)
		publish(t, s, 1, scenarioRows(0))
		closeCatalog(t, s)
		return sortedLines(scenarioRows(0)), sortedLines(scenarioRows(1))
	}},
	{"merge", prepareMerge},
	// A crash came after some sources of a compaction had been removed.
	{"open", func(t testing.TB, dir string) (want, more []string) {
		want, _ = prepareMerge(t, dir)
		sources := copyDir(t, dir)
		o, _ := testOptions()
		s := open(t, dir, o)
		maintain(t, s)
		closeCatalog(t, s)
		for _, name := range namesIn(t, sources, SegmentDir)[1:] {
			copyFile(t, filepath.Join(dir, SegmentDir, name), filepath.Join(sources, SegmentDir, name))
		}
		return want, nil
	}},
	// A byte of the index is wrong: nothing is lost.
	{"repair", func(t testing.TB, dir string) (want, more []string) {
		want, _ = prepareMerge(t, dir)
		path := filepath.Join(dir, SegmentDir, (positions{1, 2, 0}).String())
		p, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p[len(p)-1] ^= 1
		if err := os.WriteFile(path, p, 0o644); err != nil {
			t.Fatal(err)
		}
		return want, nil
	}},
}

func scenarioRows(i int) map[string][]row {
	return rowsOf(1e18+int64(i)*1e9, 3, "a", fmt.Sprint("s", i))
}

// prepareMerge makes segments that are due for compaction.
func prepareMerge(t testing.TB, dir string) (want, more []string) {
	o, _ := testOptions()
	s := open(t, dir, o)
	for i := range 2 * growth {
		publish(t, s, 1, scenarioRows(i))
		want = append(want, sortedLines(scenarioRows(i))...)
	}
	closeCatalog(t, s)
	slices.Sort(want)
	return want, nil
}

// failsAgain is in what runScenario prints if the next round fails too.
const failsAgain = "and again: "

// runScenario is run by the traced process; it prints "ok" or the error.
func runScenario(name, dir string) string {
	o, _ := testOptions()
	if name == "open" {
		tracetest.Begin()
	}
	s, err := openDir(context.Background(), dir, o)
	switch name {
	case "open":
		tracetest.End()
	case "publish":
		tracetest.Begin()
		if err == nil {
			info := segment2.Info{After: s.Upto(), Upto: s.Upto() + 1}
			err = s.Publish(context.Background(), info, func(w *segment2.Writer) error { return writeRows(w, scenarioRows(1), 16) }, nil)
		}
		tracetest.End()
	default:
		tracetest.Begin()
		if err == nil {
			err = s.Maintain(context.Background())
		}
		tracetest.End()
		if err != nil && s != nil {
			if again := s.CompactAll(context.Background()); again != nil {
				err = fmt.Errorf("%w, %s%w", err, failsAgain, again)
			}
		}
	}
	if s != nil {
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

const traced = "fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,link,linkat,openat,write,pwrite64"

// durable lists the calls that a golden file holds.
var durable = regexp.MustCompile(`^(fsync|fdatasync|rename\w*|unlink\w*|link\w*)\(`)

// Nothing is removed before its replacement is durable, and a compacted segment
// is durable before it becomes visible.
func TestTraces(t *testing.T) {
	tracetest.Need(t, traced)
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			dir := t.TempDir()
			sc.prepare(t, dir)
			tr := tracetest.Run{Scenario: sc.name, Root: dir, Calls: traced}.Do(t)
			if tr.Said != "ok" {
				t.Fatal(tr.Said)
			}
			all := tr.Normal(dir, tracetest.Rule{Find: regexp.MustCompile(`stele-[^/"> ]+\.part`), By: "TEMP.part"})
			var kept []string
			for line := range strings.Lines(all) {
				if durable.MatchString(line) {
					kept = append(kept, line)
				}
			}
			tracetest.Golden(t, sc.name, strings.Join(kept, ""), *updateTraces)
		})
	}
}

// At each system call an error, or the end of the process: no entry is lost,
// none is there twice, the next Open cleans up the directory, and the next round of
// a Maintain that failed succeeds.
func TestFaultAtEachCall(t *testing.T) {
	tracetest.Need(t, traced)
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			model := t.TempDir()
			want, more := sc.prepare(t, model)
			calls := tracetest.Run{Scenario: sc.name, Root: copyDir(t, model), Calls: traced}.Do(t).Calls()
			if len(calls) < 4 {
				t.Fatalf("%d calls", len(calls))
			}
			stride, failed := 1, 0
			if raceEnabled {
				stride = 7 // a traced process takes its time to begin
			}
			for i := 0; i < len(calls); i += stride {
				call := calls[i]
				for _, fault := range []string{"error=EIO", "signal=KILL"} {
					if call.Name == "openat" && (fault == "signal=KILL" || !strings.Contains(call.Line, "/copy")) {
						continue // to be killed there changes nothing
					}
					dir := copyDir(t, model)
					inject := fmt.Sprintf("%s:%s:when=%d", call.Name, fault, call.Nth)
					tr := tracetest.Run{Scenario: sc.name, Root: dir, Calls: traced, Inject: []string{inject}, Killed: true}.Do(t)
					if tr.Said != "ok" {
						failed++
					}
					if strings.Contains(tr.Said, failsAgain) {
						t.Errorf("%s (%s): %s", inject, call.Line, tr.Said)
					}
					o, _ := testOptions()
					s, err := openDir(t.Context(), dir, o)
					if err != nil {
						t.Fatalf("%s (%s): opening again: %v", inject, call.Line, err)
					}
					if err := s.Maintain(t.Context()); err != nil {
						t.Errorf("%s (%s): %v", inject, call.Line, err)
					}
					got, all := served(t, s), slices.Sorted(slices.Values(slices.Concat(want, more)))
					if tr.Said == "ok" || len(got) > len(want) {
						equalLines(t, inject+" "+call.Line, got, all)
					} else {
						equalLines(t, inject+" "+call.Line, got, want)
					}
					closeCatalog(t, s)
					for _, name := range namesIn(t, dir, SegmentDir) {
						if !strings.HasSuffix(name, SegmentSuffix) {
							t.Errorf("%s (%s): %s is left", inject, call.Line, name)
						}
					}
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
				}
			}
			if failed == 0 {
				t.Errorf("none of %d calls went wrong", len(calls))
			}
		})
	}
}
