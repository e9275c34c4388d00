package prove

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/crashtest/states"
)

// Keeps fails the test if a cut loses anything. With -artifacts it keeps the
// image of the first loss.
func Keeps[T any](t *testing.T, rec *power.Recording[T], n int, check func(dir string, acked []T) error) {
	t.Helper()
	res := powertest.Check(t, rec, n, check)
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

// Caught fails the test unless a cut loses something. It makes few cuts first,
// which catch most mutants, and then more: some show only at a few points.
func Caught[T any](t *testing.T, rec *power.Recording[T], check func(dir string, acked []T) error) {
	t.Helper()
	var res power.Result
	for _, n := range []int{4, 16, 64, 128} {
		res = powertest.Check(t, rec, n, check)
		for _, l := range res.Lost {
			if !errors.Is(l.Err, ErrLost) {
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

// There returns an error unless each of the acknowledged files is below dir, with a
// mode for which is returns true.
func There(dir string, acked []string, is func(fs.FileMode) bool) error {
	for _, rel := range acked {
		fi, err := os.Lstat(filepath.Join(dir, rel))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w", rel, ErrLost)
		case err != nil:
			return err
		case !is(fi.Mode()):
			return fmt.Errorf("%s has the mode %v", rel, fi.Mode())
		}
	}
	return nil
}

// Parallel calls f from n goroutines, with their numbers, and returns their errors.
func Parallel(n int, f func(g int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for g := range errs {
		wg.Go(func() { errs[g] = f(g) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// A Case is work that must lose nothing.
type Case[T any] struct {
	Name    string
	Work    func(dir string, ack func(T)) error
	Prepare func(dir string) error
	Runs    int                               // recordings to spread the cuts over; 0 is 1
	Size    int64                             // size of the device in bytes; 0 is the default
	Except  map[string]string                 // file systems to skip, with the reason
	Check   func(dir string, acked []T) error // nil takes the check of Holds
}

// Holds cuts the power under each of the cases, which must lose nothing.
func Holds[T any](t *testing.T, fs string, check func(dir string, acked []T) error, cases []Case[T]) {
	for _, p := range cases {
		t.Run(p.Name, func(t *testing.T) {
			if why := p.Except[fs]; why != "" {
				t.Skip(why)
			}
			t.Parallel()
			if p.Check == nil {
				p.Check = check
			}
			runs := max(1, p.Runs)
			for i := range uint64(runs) {
				rec := powertest.Record(t, power.Options{FS: fs, Size: p.Size, Seed: Seed(t) + i, Prepare: p.Prepare}, p.Work)
				Keeps(t, rec, (Cuts()+runs-1)/runs, p.Check)
			}
		})
	}
}

// A Mutant is work without something that it needs.
type Mutant[T any] struct {
	Name    string
	Work    func(dir string, ack func(T)) error
	Prepare func(dir string) error
	OnSync  func(crashtest.Sync) crashtest.SyncFault
	Size    int64
	Covered bool // on this file system it loses nothing all the same
	Check   func(dir string, acked []T) error
}

// Mutants cuts the power under each of the mutants, which must be caught.
func Mutants[T any](t *testing.T, fs string, check func(dir string, acked []T) error, mutants []Mutant[T]) {
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if m.Check == nil {
				m.Check = check
			}
			rec := powertest.Record(t, power.Options{FS: fs, Size: m.Size, Seed: Seed(t), Prepare: m.Prepare, OnSync: m.OnSync}, m.Work)
			if m.Covered {
				Keeps(t, rec, Cuts(), m.Check)
			} else {
				Caught(t, rec, m.Check)
			}
		})
	}
}

// Always returns an OnSync that gives every sync the fault f.
func Always(f crashtest.SyncFault) func(crashtest.Sync) crashtest.SyncFault {
	return func(crashtest.Sync) crashtest.SyncFault { return f }
}

// Where returns an OnSync that gives the fault f to those syncs for which is
// returns true.
func Where(f crashtest.SyncFault, is func(crashtest.Sync) bool) func(crashtest.Sync) crashtest.SyncFault {
	return func(s crashtest.Sync) crashtest.SyncFault {
		if is(s) {
			return f
		}
		return crashtest.NoFault
	}
}

// OfRoot reports whether a sync is of the root of the file system.
func OfRoot(s crashtest.Sync) bool { return s.Path == "." }

// OfFile reports whether a sync is of anything below the root.
func OfFile(s crashtest.Sync) bool { return s.Path != "." }

// Missed fails the test unless crash states fail once the syncs for which of
// returns true are left out of the history. In a sample the first failure is enough:
// the states after it are not checked, and it is not reduced to the losses that it needs.
func Missed[T any](t *testing.T, h *states.History[T], o states.Options, check func(dir string, acked []T) error, of func(crashtest.Sync) bool) {
	t.Helper()
	var left int
	o.OnSync = func(s crashtest.Sync) crashtest.SyncFault {
		if of(s) {
			left++
			return crashtest.SkipSync
		}
		return crashtest.NoFault
	}
	var checked, failed int
	once := func(dir string, acked []T) error {
		if failed > 0 && Sampled() {
			return nil
		}
		checked++
		err := check(dir, acked)
		if err != nil {
			failed++
		}
		return err
	}
	// The number of failing states depends on how goroutines happened to meet.
	// A sample may have none of them: then a larger one is drawn.
	var rep states.Report
	for range 3 {
		left, checked = 0, 0
		if rep = h.CheckDir(o, once); left > 0 && rep.Failed > 0 {
			if Sampled() {
				t.Logf("%d syncs left out: caught by state %d: %v", left, checked, rep.Failures[0])
			} else {
				t.Logf("%d syncs left out: %d of %d states fail, the first: %v", left, rep.Failed, rep.Checked, rep.Failures[0])
			}
			return
		}
		o.Max *= 5
	}
	t.Errorf("%d syncs are left out, and nothing is lost: %v", left, rep)
}

// EachSync runs work once for each of its syncs, from number `from` on, without
// that sync, which must be caught. Without STELE_LONG it samples the syncs.
func EachSync[T any](t *testing.T, o power.Options, from int, work func(dir string, ack func(T)) error, check func(dir string, acked []T) error) {
	var seen []crashtest.Sync
	run := func(without int) *power.Recording[T] {
		seen = nil
		o.OnSync = func(s crashtest.Sync) crashtest.SyncFault {
			seen = append(seen, s)
			if s.N == without {
				return crashtest.SkipSync
			}
			return crashtest.NoFault
		}
		return powertest.Record(t, o, work)
	}
	Keeps(t, run(-1), Cuts(), check)
	syncs := seen
	if len(syncs) < from+8 {
		t.Fatalf("the work made the syncs %v, fewer than it must", syncs)
	}
	step := 1
	if !Long() {
		step = (len(syncs)-from)/2 | 1 // odd: one of a file and one of its directory, where they alternate
	}
	for i := from; i < len(syncs); i += step {
		t.Logf("without %v:", syncs[i])
		Caught(t, run(i), check)
	}
}

// OfCall returns a function that reports whether a sync is of that call.
func OfCall(call string) func(crashtest.Sync) bool {
	return func(s crashtest.Sync) bool { return s.Call == call }
}

// RecordMount is [states.RecordMount]. It skips the test where nothing can be
// mounted, and fails it on an error.
func RecordMount[T any](t testing.TB, o states.MountOptions, work func(dir string, ack func(T)) error) *states.History[T] {
	t.Helper()
	h, err := states.RecordMount(o, work)
	if errors.Is(err, crashtest.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// FaultsMount is [states.FaultsMount]. It skips the test where nothing can be
// mounted, and fails it if a run fails.
func FaultsMount[T any](t testing.TB, o states.FaultOptions, work func(dir string, ack func(T)) error, check func(dir string, acked []T) error) {
	t.Helper()
	rep := states.FaultsMount(o, work, check)
	if errors.Is(rep.Broken, crashtest.ErrUnavailable) {
		t.Skip(rep.Broken)
	}
	if t.Log(rep); rep.Err() != nil {
		t.Error(rep)
	}
}
