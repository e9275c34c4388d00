package lab_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// sharing is an experiment whose blocks look at a directory that they share.
func sharing(prepare func(dir string) error, use func(dir string) error) lab.Experiment {
	return lab.Experiment{
		Suite: "test", Name: "shared", Question: "?", Op: "nothing", Ops: 1,
		Variants: []lab.Variant{{Name: "v", Doc: "d", Promise: run.WritesNothing(), Run: func(b *lab.B) error {
			dir, err := b.Shared("much", prepare)
			if err != nil {
				return err
			}
			for b.Loop() {
			}
			return use(dir)
		}}},
	}
}

func TestBlocksShareADirectory(t *testing.T) {
	prepared, used := 0, map[string]int{}
	e := sharing(func(dir string) error {
		prepared++
		return os.WriteFile(filepath.Join(dir, "left"), nil, 0o644)
	}, func(dir string) error {
		used[dir]++
		_, err := os.Stat(filepath.Join(dir, "left"))
		return err
	})
	places := []lab.PlaceSpec{{Name: "a", Dir: t.TempDir()}, {Name: "b", Dir: t.TempDir()}}
	got, err := lab.Measure(t.Context(), lab.Options{
		Places: places, Rounds: 3, BlockTime: time.Millisecond, InProcess: true, NoCalibration: true, Seed: 1,
	}, e)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Results {
		if r.Variants[0].Error != "" {
			t.Error(r.Variants[0].Error)
		}
	}
	if prepared != 2 || len(used) != 2 {
		t.Errorf("prepared %d times, in %d directories; want once a place", prepared, len(used))
	}
	for dir, n := range used {
		if n != 4 { // a pilot and three rounds
			t.Errorf("%s was used by %d blocks, want 4", dir, n)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
}

func TestSharedAfterAFailure(t *testing.T) {
	broken := errors.New("broken")
	fails := true
	e := sharing(func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "left"), nil, 0o644); err != nil || !fails {
			return err
		}
		return broken
	}, func(string) error { return nil })
	dir := t.TempDir()
	if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], dir, 1, 1); err == nil {
		t.Fatal("a prepare that failed went unseen")
	}
	if list, err := os.ReadDir(filepath.Join(dir, "shared")); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	fails = false
	if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], dir, 1, 1); err != nil {
		t.Errorf("the next block: %v", err)
	}
}

// Of a file system that is thrown away nothing is removed first.
func TestDiscardedPlaceKeepsItsFiles(t *testing.T) {
	for _, discarded := range []bool{false, true} {
		dir := t.TempDir()
		e := sharing(func(dir string) error { return os.WriteFile(filepath.Join(dir, "left"), nil, 0o644) }, func(string) error { return nil })
		_, err := lab.Measure(t.Context(), lab.Options{
			Places: []lab.PlaceSpec{{Dir: dir, Discarded: discarded}}, Rounds: 1, InProcess: true, NoCalibration: true,
		}, e)
		if err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*", "work", "shared", "much", "left"))
		if err != nil || len(left) == 1 != discarded {
			t.Errorf("discarded %v: left are %q, %v", discarded, left, err)
		}
	}
}
