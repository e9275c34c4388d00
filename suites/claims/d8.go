package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/lab"
)

const variantExcerpt = "the report's excerpt"

var (
	d8Perms  = []os.FileMode{0o700, 0o750, 0o755, 0o777}
	d8Umasks = []os.FileMode{0, 0o022, 0o077}
)

// d8Races is how many paths two goroutines make at the same time.
const d8Races = 300

// excerpt is the report's excerpt of os.MkdirAll: it passes 0755 up, and returns the error of
// os.Mkdir as it is.
func excerpt(path string, perm os.FileMode) error {
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("not a directory")}
	}
	if parent := filepath.Dir(path); parent != "." && parent != path {
		if err := excerpt(parent, 0o755); err != nil {
			return err
		}
	}
	return os.Mkdir(path, perm)
}

func modeMetric(level int, perm, umask os.FileMode) string {
	return fmt.Sprintf("mode_of_level_%d_perm_%04o_umask_%04o", level, perm, umask)
}

const (
	d8RaceErrors = "race_errors_share"
	// d8OddModes counts directories made by os.Mkdir with 0777 whose mode is not 0777 less the
	// umask, as below a directory with a default ACL.
	d8OddModes = "modes_other_than_umask"
)

// runD8 makes a path for each permission and umask and reports the modes, and has two
// goroutines make each of many paths.
func runD8(b *lab.B, make func(string, os.FileMode) error) error {
	odd := 0
	for b.Loop() {
		for _, umask := range d8Umasks {
			if err := withUmask(umask, func() error { return makeModes(b, make, umask, &odd) }); err != nil {
				return err
			}
		}
	}
	b.Report(d8OddModes, float64(odd))
	return raceForPaths(b, make)
}

func makeModes(b *lab.B, make func(string, os.FileMode) error, umask os.FileMode, odd *int) error {
	at := fmt.Sprintf("%d-%04o", b.I(), umask)
	if err := os.Mkdir(at, 0o777); err != nil {
		return err
	}
	if info, err := os.Stat(at); err != nil {
		return err
	} else if info.Mode().Perm() != 0o777&^umask {
		*odd++
	}
	for _, perm := range d8Perms {
		top := fmt.Sprintf("%s/%04o", at, perm)
		if err := make(top+"/b/c", perm); err != nil {
			return err
		}
		for level, path := range []string{top, top + "/b", top + "/b/c"} {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			b.Report(modeMetric(level+1, perm, umask), float64(info.Mode().Perm()))
		}
	}
	return nil
}

// raceForPaths reports which share of the paths gave one of two goroutines the error that
// something exists.
func raceForPaths(b *lab.B, make func(string, os.FileMode) error) error {
	var failed atomic.Int64
	var other error
	var mu sync.Mutex
	for i := range d8Races {
		path := fmt.Sprintf("race%d/a/b/c/d", i)
		var both sync.WaitGroup
		var start sync.WaitGroup
		start.Add(1)
		for range 2 {
			both.Go(func() {
				start.Wait()
				err := make(path, 0o755)
				switch {
				case errors.Is(err, fs.ErrExist):
					failed.Add(1)
				case err != nil:
					mu.Lock()
					other = err
					mu.Unlock()
				}
			})
		}
		start.Done()
		both.Wait()
	}
	b.Report(d8RaceErrors, float64(failed.Load())/d8Races)
	return other
}

func d8() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D8", Question: "Which permission do intermediate directories get?",
		Op:  "twelve paths of 3 new levels: each permission with each umask",
		Ops: 1, MaxRounds: lab.MinRounds,
		Variants: firstIsBaseline(
			lab.Variant{Name: variantAll, Doc: "the standard library", Promise: kill, Run: inDir(func(b *lab.B) error { return runD8(b, os.MkdirAll) })},
			lab.Variant{Name: variantExcerpt, Doc: "0755 passed to the levels above, and the error of os.Mkdir returned as it is", Promise: kill,
				Run: inDir(func(b *lab.B) error { return runD8(b, excerpt) })}),
	}
}

func claimD8() Claim {
	e := d8()
	return Claim{
		ID: "D8",
		Source: reportD.source("2.1, Key parameters",
			"os.MkdirAll applies perm to the last directory only; those between always get 0755, as umask corrects it, and a race is safe because EEXIST is ignored."),
		Statement:   "permission of the intermediate directories that os.MkdirAll makes, for perm 0700, 0750, 0755, 0777 and umask 0, 022, 077",
		Claimed:     "0755 less the umask whatever perm says",
		Promise:     killText,
		Experiments: []lab.Experiment{e},
		judge:       func(ev *evidence) judgement { return judgeD8(ev, e.ID()) },
	}
}

func judgeD8(ev *evidence, id string) judgement {
	odd := ev.metric(id, variantAll, d8OddModes)
	lack := ""
	if odd.Median > 0 {
		lack = "a directory without a default ACL: here the umask does not decide a mode"
	}
	is, text := ev.alwaysMode(id, variantAll)
	parts := []part{
		fact("os.MkdirAll makes intermediate directories with 0755 less the umask, whatever perm says", is, text).needs(lack),
		figureOf("os.MkdirAll, two goroutines on one path", shareText(ev.metric(id, variantAll, d8RaceErrors))+" fail with EEXIST"),
	}
	_, text = ev.alwaysMode(id, variantExcerpt)
	parts = append(parts, figureOf("the report's excerpt", text),
		figureOf("the report's excerpt, two goroutines on one path", shareText(ev.metric(id, variantExcerpt, d8RaceErrors))+" fail with EEXIST"))
	return ruling("Each permission was tried with each umask. "+ev.place.Environment.Go, parts...)
}

// alwaysMode reports whether all intermediate directories have 0755 less the umask, and lists
// the modes of those that have another.
func (ev *evidence) alwaysMode(id, variant string) (always bool, text string) {
	always = true
	var other []string
	for _, umask := range d8Umasks {
		for _, perm := range d8Perms {
			for level := 1; level <= 2; level++ {
				e := ev.metric(id, variant, modeMetric(level, perm, umask))
				if math.IsNaN(e.Median) {
					return false, "NaN"
				}
				if got, want := os.FileMode(e.Median), 0o755&^umask; got != want {
					always = false
					if level == 1 {
						other = append(other, fmt.Sprintf("perm %04o, umask %04o: %04o", perm, umask, got))
					}
				}
			}
		}
	}
	if always {
		return true, "all have"
	}
	return false, strings.Join(other, "; ")
}
