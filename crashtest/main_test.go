package crashtest_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/crashtest"
)

var (
	cutsFlag = flag.Int("cuts", 0, "power cuts for each file system and workload (default 4, or 500 with STELE_LONG=1)")
	seedFlag = flag.Uint64("seed", 0, "seed of the cuts (default: drawn and printed)")
)

func TestMain(m *testing.M) {
	crashtest.ServeDisk()
	flag.Parse()
	if !given("test.parallel") {
		flag.Set("test.parallel", "8") // whatever the processors: a mount mostly waits
	}
	os.Exit(m.Run())
}

func given(name string) (is bool) {
	flag.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

func cuts() int {
	switch {
	case *cutsFlag > 0:
		return *cutsFlag
	case long():
		return 500
	}
	return 4
}

func long() bool { return os.Getenv("STELE_LONG") == "1" }

// each runs f for each file system that there can be here. With the race
// detector, which sees no more on three of them than on one, it is ext4 alone,
// unless -cuts or STELE_LONG is set.
func each(t *testing.T, f func(t *testing.T, fs string)) {
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			if raceDetector && fs != "ext4" && *cutsFlag == 0 && !long() {
				t.Skip("with the race detector ext4 alone is cut; set -cuts or STELE_LONG=1")
			}
			t.Parallel()
			f(t, fs)
		})
	}
}

// keeps fails the test if a cut loses anything. With -artifacts it keeps the
// image of the first loss.
func keeps[T any](t *testing.T, rec *crashtest.Recording[T], n int, check func(dir string, acked []T) error) {
	t.Helper()
	res := rec.Check(t, n, check)
	t.Log(res)
	if len(res.Lost) == 0 {
		return
	}
	f, err := os.Create(filepath.Join(t.ArtifactDir(), "lost.img"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(rec.WriteImage(res.Lost[0].Cut, f), f.Close())
	t.Errorf("%d of %d cuts lost what was acknowledged; the device after the first of them: %s (%v)", len(res.Lost), n, f.Name(), err)
}

// errLost marks what a mutant is to be caught by; anything else that a check
// returns would not show that the rig sees the loss.
var errLost = errors.New("acknowledged, and lost")

// caught fails the test unless a cut loses something. Most mutants are caught
// by one of the first cuts, so few are made first; then more, as some can only
// be seen at the one or other place.
func caught[T any](t *testing.T, rec *crashtest.Recording[T], check func(dir string, acked []T) error) {
	t.Helper()
	var res crashtest.Result
	for _, n := range []int{4, 16, 64, 128} {
		res = rec.Check(t, n, check)
		for _, l := range res.Lost {
			if !errors.Is(l.Err, errLost) {
				t.Errorf("%v: %v", l.Cut, l.Err)
			}
		}
		if len(res.Lost) > 0 {
			t.Logf("caught by %d of %d cuts (seed %d); the first: %v", len(res.Lost), n, res.Seed, res.Lost[0].Err)
			return
		}
	}
	t.Errorf("the mutant was not caught: %v", res)
}

// A proof is work that must lose nothing.
type proof[T any] struct {
	name    string
	work    func(dir string, ack func(T)) error
	prepare func(dir string) error
	runs    int                               // recordings that the cuts are spread over; 0 is 1
	size    int64                             // of the device, if not the least
	except  map[string]string                 // why not on this file system
	check   func(dir string, acked []T) error // unless nil, in the place of the common one
}

// prove cuts each of the proofs.
func prove[T any](t *testing.T, fs string, check func(dir string, acked []T) error, proofs []proof[T]) {
	for _, p := range proofs {
		t.Run(p.name, func(t *testing.T) {
			if why := p.except[fs]; why != "" {
				t.Skip(why)
			}
			t.Parallel()
			if p.check == nil {
				p.check = check
			}
			runs := max(1, p.runs)
			for range runs {
				rec := crashtest.Record(t, crashtest.Options{FS: fs, Size: p.size, Seed: *seedFlag, Prepare: p.prepare}, p.work)
				keeps(t, rec, (cuts()+runs-1)/runs, p.check)
			}
		})
	}
}

// A mutant is work that lacks something that it needs.
type mutant[T any] struct {
	name    string
	work    func(dir string, ack func(T)) error
	prepare func(dir string) error
	onSync  func(crashtest.Sync) crashtest.Fault
	size    int64
	covered bool // it does not need it here: then it must lose nothing
	check   func(dir string, acked []T) error
}

// refute shows that each of the mutants is caught.
func refute[T any](t *testing.T, fs string, check func(dir string, acked []T) error, mutants []mutant[T]) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.check == nil {
				m.check = check
			}
			rec := crashtest.Record(t, crashtest.Options{FS: fs, Size: m.size, Seed: *seedFlag, Prepare: m.prepare, OnSync: m.onSync}, m.work)
			if m.covered {
				keeps(t, rec, cuts(), m.check)
			} else {
				caught(t, rec, m.check)
			}
		})
	}
}

// always has each sync fail in one way.
func always(f crashtest.Fault) func(crashtest.Sync) crashtest.Fault {
	return func(crashtest.Sync) crashtest.Fault { return f }
}

// where has those syncs fail that it is true of.
func where(f crashtest.Fault, is func(crashtest.Sync) bool) func(crashtest.Sync) crashtest.Fault {
	return func(s crashtest.Sync) crashtest.Fault {
		if is(s) {
			return f
		}
		return crashtest.NoFault
	}
}

func ofRoot(s crashtest.Sync) bool { return s.Path == "." }
func ofFile(s crashtest.Sync) bool { return s.Path != "." }

// missed checks that states which the history may leave fail once the syncs
// that of chooses are left out.
func missed[T any](t *testing.T, h *crashtest.History[T], o crashtest.StateOptions, check func(dir string, acked []T) error, of func(crashtest.Sync) bool) {
	t.Helper()
	var left int
	o.OnSync = func(s crashtest.Sync) crashtest.Fault {
		if of(s) {
			left++
			return crashtest.SkipSync
		}
		return crashtest.NoFault
	}
	// How many states fail depends on how goroutines happened to meet: where
	// they are few, a sample may have none of them, and a larger one is drawn.
	var rep crashtest.StateReport
	for range 3 {
		left = 0
		if rep = h.CheckDir(o, check); left > 0 && rep.Failed > 0 {
			t.Logf("%d syncs left out: %d of %d states fail, the first: %v", left, rep.Failed, rep.Checked, rep.Failures[0])
			return
		}
		o.Max *= 5
	}
	t.Errorf("%d syncs are left out, and nothing is lost: %v", left, rep)
}

// refuteEach removes the syncs of work, from the given one on, one in each
// run, and shows that each is missed. Unless STELE_LONG is set it leaves out
// most of the runs.
func refuteEach[T any](t *testing.T, o crashtest.Options, from int, work func(dir string, ack func(T)) error, check func(dir string, acked []T) error) {
	var seen []crashtest.Sync
	run := func(without int) *crashtest.Recording[T] {
		seen = nil
		o.OnSync = func(s crashtest.Sync) crashtest.Fault {
			seen = append(seen, s)
			if s.N == without {
				return crashtest.SkipSync
			}
			return crashtest.NoFault
		}
		return crashtest.Record(t, o, work)
	}
	keeps(t, run(-1), cuts(), check)
	syncs := seen
	if len(syncs) < from+8 {
		t.Fatalf("the work made the syncs %v, fewer than it must", syncs)
	}
	step := 1
	if !long() {
		step = (len(syncs)-from)/2 | 1 // odd: one of a file and one of its folder, where they alternate
	}
	for i := from; i < len(syncs); i += step {
		t.Logf("without %v:", syncs[i])
		caught(t, run(i), check)
	}
}
