package mkdir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of package mkdir's level Power: whenever the power is cut, every
// directory that was acknowledged is there, and so are its parents.

type makeDirs = func(dir string, ack func(rel string)) error

// maker wraps work that needs a Maker.
func maker(o mkdir.Options, work func(m *mkdir.Maker, dir string, ack func(string)) error) makeDirs {
	return func(dir string, ack func(string)) error {
		m, err := mkdir.OpenRoot(dir, o)
		if err != nil {
			return err
		}
		return errors.Join(work(m, dir, ack), m.Close())
	}
}

// makeAll makes trees path by path. Another program has made some of them and not
// synced them.
func makeAll(m *mkdir.Maker, dir string, ack func(string)) error {
	for i := range 40 {
		rel := fmt.Sprintf("%c/%d/leaf%d", 'a'+i%3, i/10, i)
		if i%4 == 0 {
			if err := os.MkdirAll(filepath.Join(dir, rel), 0o755); err != nil {
				return err
			}
		}
		if err := m.All(rel, 0o755); err != nil {
			return err
		}
		ack(rel)
	}
	return nil
}

// makeBatches makes batches that share parents with each other.
func makeBatches(m *mkdir.Maker, dir string, ack func(string)) error {
	for i := range 12 {
		var rels []string
		for j := range 40 {
			rels = append(rels, fmt.Sprintf("%d/%d/leaf%d", j%4, i/4, 100*i+j))
		}
		if _, err := m.Batch(context.Background(), slices.Values(rels), 0o755); err != nil {
			return err
		}
		for _, rel := range rels {
			ack(rel)
		}
	}
	return nil
}

// race makes overlapping trees from six goroutines, through so many Makers: one may find
// what another made before it is durable.
func race(makers int, o mkdir.Options) makeDirs {
	return func(dir string, ack func(string)) (err error) {
		ms := make([]*mkdir.Maker, makers)
		for i := range ms {
			if ms[i], err = mkdir.OpenRoot(dir, o); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, ms[i].Close()) }()
		}
		return prove.Parallel(6, func(g int) error {
			for i := range 15 {
				rel := fmt.Sprintf("p%d/q%d", i/5, (i+g)%15)
				if err := ms[g%makers].All(rel, 0o755); err != nil {
					return err
				}
				ack(rel)
			}
			return nil
		})
	}
}

func checkDirs(dir string, acked []string) error {
	return prove.There(dir, acked, fs.FileMode.IsDir)
}

func TestPower(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkDirs, []prove.Case[string]{
			{Name: "All", Work: maker(mkdir.Options{}, makeAll)},
			{Name: "Batch", Work: maker(mkdir.Options{}, makeBatches)},
			{Name: "Batch confined", Work: maker(mkdir.Options{Confined: true}, makeBatches)},
			{Name: "one Maker, many goroutines", Work: race(1, mkdir.Options{}), Runs: 3},
			{Name: "two Makers", Work: race(2, mkdir.Options{}), Runs: 3, Except: map[string]string{
				"btrfs": "if several fsyncs of one directory run at once, one may return before the names in it are durable; " +
					"on Linux 6.18 os.Mkdir and fsync from six goroutines lose directories so, without a Maker. " +
					"One Maker does not run two at once",
			}},
		})
	})
}

// A mutant without a sync is caught, whatever it does instead. O_DIRECT is for data, and
// a directory has none.
func TestMutants(t *testing.T) {
	kill := mkdir.Options{Level: durability.Kill}
	prove.EachFS(t, func(t *testing.T, fs string) {
		mutants := []prove.Mutant[string]{
			{Name: "All at level Kill", Work: maker(kill, makeAll)},
			{Name: "Batch at level Kill", Work: maker(kill, makeBatches)},
			{Name: "two Makers at level Kill", Work: race(2, kill)},
			{Name: "All without its syncs", Work: maker(mkdir.Options{}, makeAll), OnSync: prove.Always(crashtest.SkipSync)},
			{Name: "Batch without its syncs", Work: maker(mkdir.Options{}, makeBatches), OnSync: prove.Always(crashtest.SkipSync)},
			{Name: "All with sync_file_range", Work: maker(mkdir.Options{}, makeAll), OnSync: prove.Always(crashtest.WriteOnly)},
			{Name: "Batch with sync_file_range", Work: maker(mkdir.Options{}, makeBatches), OnSync: prove.Always(crashtest.WriteOnly)},
			{Name: "sync of another file", Work: syncOther(otherFile), Prepare: makeOther},
		}
		if fs != "ext4" {
			// ext4 answers fsync of any directory by committing the whole
			// journal (ext4_fsync_journal): nothing is lost there.
			mutants = append(mutants, prove.Mutant[string]{Name: "sync of another directory", Work: syncOther(otherDir), Prepare: makeOther})
		}
		prove.Mutants(t, fs, checkDirs, mutants)
	})
}

const otherDir, otherFile = "dir", "file"

func makeOther(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, otherFile), nil, 0o600); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(dir, otherDir), 0o755)
}

// syncOther syncs name, in which nothing was made.
func syncOther(name string) makeDirs {
	return func(dir string, ack func(string)) (err error) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		for i := range 20 {
			rel := fmt.Sprint("x", i)
			if err := os.Mkdir(filepath.Join(dir, rel), 0o755); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
			ack(rel)
		}
		return nil
	}
}

// A run with any single one of its syncs removed is caught.
func TestEachSync(t *testing.T) {
	const requests = 8
	parents := []string{"p0", "p1", "p2", "p3"}
	prepare := func(dir string) error {
		for _, p := range parents {
			if err := os.Mkdir(filepath.Join(dir, p), 0o755); err != nil {
				return err
			}
		}
		return nil
	}
	// One worker: the syncs have the same numbers in each run.
	o := mkdir.Options{Workers: 1}
	all := maker(o, func(m *mkdir.Maker, dir string, ack func(string)) error {
		for i := range requests {
			rel := fmt.Sprint("x", i)
			if err := m.All(rel, 0o755); err != nil {
				return err
			}
			ack(rel)
		}
		return nil
	})
	batch := maker(o, func(m *mkdir.Maker, dir string, ack func(string)) error {
		for i := range requests {
			var rels []string
			for _, p := range parents {
				rels = append(rels, fmt.Sprintf("%s/x%d", p, i))
			}
			if _, err := m.Batch(context.Background(), slices.Values(rels), 0o755); err != nil {
				return err
			}
			for _, rel := range rels {
				ack(rel)
			}
		}
		return nil
	})
	prove.EachFS(t, func(t *testing.T, fs string) {
		options := power.Options{FS: fs, Seed: prove.Seed(t), Prepare: prepare}
		t.Run("All", func(t *testing.T) { prove.EachSync(t, options, 0, all, checkDirs) })
		if fs != "btrfs" {
			// ext4 and XFS write all of the journal whichever directory is
			// synced: one sync of several suffices, and what is not lost
			// cannot be caught.
			return
		}
		// The first batch also syncs the root, for the parents' own entries.
		t.Run("Batch", func(t *testing.T) { prove.EachSync(t, options, 1+len(parents), batch, checkDirs) })
	})
}
