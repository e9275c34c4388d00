package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
)

// crashSteps are steps of a log: append a record, append several in one call, close and
// open again.
var crashSteps = []string{"append", "batch", "reopen"}

// A crashNote has the number of records that were passed to the log, and the number that
// it has acknowledged.
type crashNote struct{ begun, acked int }

// crashWork makes steps with an existing log. An append that fails without a crash ends
// it, and is stored in failed.
func (l log) crashWork(steps []string, failed *error) func(dir string, ack func(crashNote)) error {
	return func(dir string, ack func(crashNote)) error {
		s, err := l.begin(dir)
		if err != nil {
			return err
		}
		n := 0
		for _, step := range steps {
			if step == "reopen" {
				if err := s.close(); err != nil {
					return err
				}
				if _, s, err = l.reopen(dir); err != nil {
					return err
				}
				continue
			}
			recs := [][]byte{logRecord(n)}
			if step == "batch" {
				for len(recs) < 12 {
					recs = append(recs, logRecord(n+len(recs)))
				}
			}
			ack(crashNote{n + len(recs), n})
			if *failed = s.save(recs); *failed != nil {
				break
			}
			n += len(recs)
			ack(crashNote{n, n})
		}
		return s.close()
	}
}

// appends reports whether the library goes on with a log that was there.
func (l log) appends() bool { return l.former == nil }

// begin opens the log that prepare made.
func (l log) begin(dir string) (saver, error) {
	if !l.appends() {
		return l.make(dir)
	}
	_, s, err := l.reopen(dir)
	return s, err
}

func (l log) prepare(dir string) error {
	if !l.appends() {
		return nil
	}
	s, err := l.make(dir)
	if err != nil {
		return err
	}
	return s.close()
}

// The findings of a crash state.
var (
	errNotOpened = errors.New("not opened")
	errLost      = errors.New("lost")
	errMadeUp    = errors.New("made up")
)

// crashCheck opens what a crash has left, and goes on with it.
func (l log) crashCheck(dir string, notes []crashNote) error {
	var n crashNote
	if len(notes) > 0 {
		n = notes[len(notes)-1]
	}
	recs, s, err := reopenSafely(l, dir)
	if errors.Is(err, fs.ErrNotExist) && n.acked == 0 && !l.appends() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotOpened, err)
	}
	if s.close != nil {
		defer s.close()
	}
	for i, rec := range recs {
		if i >= n.begun || !bytes.Equal(rec, logRecord(i)) {
			return fmt.Errorf("%w: record %d of %d is %.20q", errMadeUp, i, n.begun, rec)
		}
	}
	if len(recs) < n.acked {
		return fmt.Errorf("%w: %d of %d records that were acknowledged", errLost, n.acked-len(recs), n.acked)
	}
	if s.save == nil {
		return nil
	}
	more := [][]byte{logRecord(900_000)}
	if err := errors.Join(s.save(more), s.close()); err != nil {
		return fmt.Errorf("%w: append after the crash: %w", errNotOpened, err)
	}
	again, s2, err := reopenSafely(l, dir)
	if s2.close != nil {
		defer s2.close()
	}
	if err != nil || len(again) != len(recs)+1 || !bytes.Equal(again[len(recs)], more[0]) {
		return fmt.Errorf("%w: what was appended after the crash: %d records, then %d: %w", errLost, len(recs), len(again), errors.Join(err))
	}
	return nil
}

// TestCrashStates prints how each library survives crashes: in all sequences of three
// steps (and their beginnings, as a history is cut everywhere), and in longer random
// ones.
//
//	go test -run CrashStates -v
//
// STELE_LONG=1 takes all sequences and more states of each.
func TestCrashStates(t *testing.T) {
	long := os.Getenv("STELE_LONG") != ""
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	table := fmt.Sprintf("seed %d\n%-14s %-10s %9s %7s %7s %11s %5s %8s", seed, "", "model", "histories", "states", "failed", "not opened", "lost", "made up")
	var examples []string
	for _, l := range logs() {
		for _, model := range []states.Model{states.POSIX, states.Journaled} {
			histories, checked, failed, kinds := 0, 0, 0, map[error]int{}
			for _, steps := range l.sequences(rng, long) {
				most := 60
				if long {
					most = 1000
				}
				var broke error
				h, err := states.RecordMount(states.MountOptions{Prepare: l.prepare}, l.crashWork(steps, &broke))
				if errors.Is(err, crashtest.ErrUnavailable) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				if broke != nil {
					if l.name == "stele wal" {
						t.Errorf("%s: %v", l.name, broke)
					}
					examples = append(examples, fmt.Sprintf("%s, no crash, %s: append: %v", l.name, strings.Join(steps, " "), broke))
				}
				rep := h.CheckDir(states.Options{Model: model, Max: most, Seed: seed}, func(dir string, notes []crashNote) error {
					err := l.crashCheck(dir, notes)
					for _, kind := range []error{errNotOpened, errLost, errMadeUp} {
						if errors.Is(err, kind) {
							kinds[kind]++
							break
						}
					}
					return err
				})
				histories, checked, failed = histories+1, checked+rep.Checked, failed+rep.Failed
				if rep.Broken != nil {
					t.Fatal(rep.Broken)
				}
				if rep.Failed == 0 {
					continue
				}
				if l.name == "stele wal" {
					t.Errorf("%s, %v: %v", l.name, steps, rep)
				}
				if f := rep.Failures[0]; len(examples) == 0 || !strings.HasPrefix(examples[len(examples)-1], fmt.Sprintf("%s, %v", l.name, model)) {
					examples = append(examples, fmt.Sprintf("%s, %v, %s: %v\n    without: %s", l.name, model, strings.Join(steps, " "), f.Err, strings.Join(f.Lost, "; ")))
				}
			}
			// A failure is checked again while it is reduced, so kinds count more.
			table += fmt.Sprintf("\n%-14s %-10v %9d %7d %7d %11s %5s %8s", l.name, model, histories, checked, failed,
				seen(kinds[errNotOpened]), seen(kinds[errLost]), seen(kinds[errMadeUp]))
		}
	}
	t.Logf("%s\nThe first failure of each:\n%s", table, strings.Join(examples, "\n"))
}

func seen(n int) string {
	if n > 0 {
		return "yes"
	}
	return "-"
}

// sequences are all of three steps, or some of them, and one of twelve.
func (l log) sequences(rng *rand.Rand, long bool) [][]string {
	steps := crashSteps
	if !l.appends() {
		steps = steps[:2] // it is never opened again to go on
	}
	var all [][]string
	for _, a := range steps {
		for _, b := range steps {
			for _, c := range steps {
				all = append(all, []string{a, b, c})
			}
		}
	}
	random := 5
	if !long {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all, random = all[:3], 1
	}
	for range random {
		s := []string{"batch", "batch", "batch", "batch", "batch", "batch"} // into the next segment
		for range 6 {
			s = append(s, steps[rng.IntN(len(steps))])
		}
		rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
		all = append(all, s)
	}
	return all
}
