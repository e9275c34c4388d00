package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab/run"
)

// The variants of syncExperiment that keep their promise, that do not, and of which that
// cannot be known.
const (
	syncsEach, opensSync, opensSyncEach, syncsByFlag = "fsync", "O_SYNC", "O_DSYNC, an open each", "RWF_DSYNC"
	liesOverwriting, liesRenaming                    = "a write", "a write and a rename"
	changesNothing, promisesLess, asksAnother        = "a read", "a write, level kill", "a write, and another process"
)

// syncExperiment has ways of writing that all promise to survive a power cut.
func syncExperiment() Experiment {
	page := make([]byte, 4096)
	to := func(name string, p run.Promise, flags int, op func(f *os.File) error) Variant {
		return Variant{Name: name, Promise: p, Run: func(b *B) error {
			f, err := os.OpenFile(filepath.Join(b.Dir, "f"), os.O_RDWR|os.O_CREATE|flags, 0o600)
			if err != nil {
				return err
			}
			defer f.Close()
			for b.Loop() {
				if err := op(f); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	write := func(f *os.File) error { _, err := f.WriteAt(page, 0); return err }
	another := func(flags int, rename bool) func(f *os.File) error {
		return func(f *os.File) error {
			g, err := os.OpenFile(f.Name()+"2", os.O_WRONLY|os.O_CREATE|flags, 0o600)
			if err != nil {
				return err
			}
			if err = errors.Join(write(g), g.Close()); err == nil && rename {
				err = os.Rename(g.Name(), f.Name()+"3")
			}
			return err
		}
	}
	return Experiment{
		Suite: "test", Name: "syncs", Question: "Which of them syncs?", Op: "one write", Ops: 10, MaxRounds: 1,
		Variants: []Variant{
			to(syncsEach, power, 0, func(f *os.File) error { return errors.Join(write(f), f.Sync()) }),
			to(opensSync, power, os.O_SYNC, write),
			to(opensSyncEach, power, 0, another(fileop.DataSync, false)),
			to(syncsByFlag, power, 0, func(f *os.File) error { _, err := fileop.WriteFlags(f, page, 0, fileop.WriteDSync); return err }),
			to(liesOverwriting, power, 0, write),
			to(liesRenaming, power, 0, another(0, true)),
			to(changesNothing, power, 0, func(f *os.File) error { _, err := f.Stat(); return err }),
			to(promisesLess, kill, 0, write),
			to(asksAnother, power, 0, func(f *os.File) error {
				p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
				if err != nil {
					return errors.Join(err, errors.ErrUnsupported)
				}
				_, err = p.Wait()
				return errors.Join(write(f), err)
			}),
		},
	}
}

// A way that promises to survive a power cut and asks for no sync is named, and none that
// asks in another way than by fsync.
func TestUnsyncedVariantIsFlagged(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("system calls are counted on Linux only")
	}
	e := syncExperiment()
	got, err := Measure(t.Context(), Options{Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 1, BlockTime: time.Millisecond, NoCalibration: true, Seed: 1}, e)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Results[0].Variants {
		v := &got.Results[0].Variants[i]
		if why := v.Missing["syscalls"]; why != (run.Reason{}) {
			t.Skipf("system calls are not counted here: %+v", why)
		}
		if v.Unsupported {
			t.Logf("%s: %s", v.Name, v.Error)
			continue
		}
		if v.Error != "" {
			t.Errorf("%s: %s", v.Name, v.Error)
		}
		flagged := slices.ContainsFunc(v.Warnings, func(w run.Warning) bool { return w.Code == run.WarnNoSync && w.N == 10 })
		if lies := v.Name == liesOverwriting || v.Name == liesRenaming; flagged != lies {
			t.Errorf("%s: flagged: %v; calls %v, %s", v.Name, flagged, v.Syscalls, requestsOf(got, v.Name))
		}
	}
}

func requestsOf(r *run.Run, variant string) string {
	for i := range r.Results[0].Blocks {
		if b := &r.Results[0].Blocks[i]; b.Variant == variant && b.Role == run.RoleCounted {
			if b.SyncRequests == nil {
				return "not known"
			}
			return fmt.Sprintf("%d by flags", *b.SyncRequests)
		}
	}
	return "not counted"
}

func TestFDFlags(t *testing.T) {
	if flags, ok := fdFlags("pos:\t0\nflags:\t0102002\nmnt_id:\t29\n"); !ok || flags != 0o102002 {
		t.Errorf("%o, %v", flags, ok)
	}
	if _, ok := fdFlags("pos:\t0\n"); ok {
		t.Error("flags where there are none")
	}
}
