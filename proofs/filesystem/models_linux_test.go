package filesystem_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The models must cover the real file systems: what a power cut leaves must be one of
// their states.

// A modelStep is a call that does the same on every file system. Some fail, and do so
// everywhere.
type modelStep func(dir string)

func modelProgram(rng *rand.Rand, n int) []modelStep {
	names := []string{"a", "b", "d/a", "d/b"}
	steps := make([]modelStep, n)
	for i := range steps {
		name, other := names[rng.IntN(4)], names[rng.IntN(4)]
		// All of a file lies in one sector, so that nothing is torn: the rig
		// tears in more ways than a model tries.
		data := strings.Repeat(string(rune('A'+i)), 1+rng.IntN(20))
		sync := rng.IntN(3)
		write := func(flags int) modelStep {
			return func(dir string) {
				f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|flags, 0o600)
				if err != nil {
					return
				}
				io.WriteString(f, data)
				switch sync {
				case 1:
					f.Sync()
				case 2:
					fdatasync(f)
				}
				f.Close()
			}
		}
		switch rng.IntN(8) {
		case 0, 1:
			steps[i] = write(os.O_APPEND)
		case 2:
			steps[i] = write(os.O_TRUNC)
		case 3, 4:
			steps[i] = func(dir string) { os.Rename(filepath.Join(dir, name), filepath.Join(dir, other)) }
		case 5:
			steps[i] = func(dir string) { os.Link(filepath.Join(dir, name), filepath.Join(dir, other)) }
		case 6:
			steps[i] = func(dir string) { os.Remove(filepath.Join(dir, name)) }
		case 7:
			directory := []string{".", "d"}[rng.IntN(2)]
			steps[i] = func(dir string) { syncPath(filepath.Join(dir, directory)) }
		}
	}
	return steps
}

func syncPath(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func modelBase(dir string) error {
	return errors.Join(os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600), os.Mkdir(filepath.Join(dir, "d"), 0o700))
}

// inTree runs a program in a directory of its own: a file system may have files in its
// root.
func inTree(steps []modelStep) func(dir string, ack func(int)) error {
	return func(dir string, _ func(int)) error {
		for _, step := range steps {
			step(filepath.Join(dir, "tree"))
		}
		return nil
	}
}

func prepareTree(dir string) error {
	return errors.Join(os.Mkdir(filepath.Join(dir, "tree"), 0o700), modelBase(filepath.Join(dir, "tree")))
}

func TestModelsHold(t *testing.T) {
	seed := prove.Seed(t)
	programs := 2
	if prove.Long() {
		programs = 40
	}
	prove.EachFS(t, func(t *testing.T, name string) {
		if name == "btrfs" {
			t.Skip("btrfs (Linux 6.18) is not modelled: see TestBtrfsLosesBothNames")
		}
		const model = states.Journaled
		for i := range programs {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			steps, ops, allowed := modelStates(t, rng, model)
			rec := powertest.Record(t, power.Options{FS: name, Seed: seed + uint64(i), Prepare: prepareTree}, inTree(steps))
			seen := map[string]bool{}
			res := powertest.Check(t, rec, min(4*prove.Cuts(), 48), func(dir string, _ []int) error {
				state, err := treeOf(dir)
				if err == nil && !allowed[state] {
					err = fmt.Errorf("a cut leaves %s, which is not one of the %d states of the %v model", state, len(allowed), model)
				}
				seen[state] = true
				return err
			})
			t.Logf("seed %d: %d states seen of %d", seed, len(seen), len(allowed))
			if len(res.Lost) > 0 {
				t.Errorf("seed %d, program %d: %v\nthe program: %s", seed, i, res, strings.Join(ops, "\n"))
			}
		}
	})
}

// modelStates draws a program and returns the states that the model allows it to leave. It
// draws another if there are too many to try all.
func modelStates(t *testing.T, rng *rand.Rand, model states.Model) (steps []modelStep, ops []string, allowed map[string]bool) {
	t.Helper()
	for range 20 {
		steps = modelProgram(rng, 9)
		h := prove.RecordMount(t, states.MountOptions{Prepare: prepareTree}, inTree(steps))
		allowed = map[string]bool{}
		rep := h.CheckDir(states.Options{Model: model, Max: 50_000}, func(dir string, _ []int) error {
			state, err := treeOf(dir)
			allowed[state] = true
			return err
		})
		if rep.Err() != nil {
			t.Fatal(rep)
		}
		if rep.Exhaustive {
			return steps, h.Ops(), allowed
		}
		t.Log(rep)
	}
	t.Fatal("twenty programs have too many crash states")
	return nil, nil, nil
}

// treeOf returns the content of the tree, on one line.
func treeOf(dir string) (string, error) {
	var parts []string
	tree := filepath.Join(dir, "tree")
	err := filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == tree {
			return err
		}
		content := "/"
		if !d.IsDir() {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("=%q", b)
		}
		parts = append(parts, strings.TrimPrefix(name, tree+"/")+content)
		return nil
	})
	return strings.Join(parts, " "), err
}
