package dirs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/mkdir"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// Perm is the mode of new directories, the same for every way.
const Perm fs.FileMode = 0o755

// A Way is a way of making directories.
type Way = job.Way[Dirs]

// Dirs makes directories in the directory it was opened for.
type Dirs struct {
	// Make makes one directory and its missing parents. Both arguments are the
	// same path, absolute and relative to the root. Many goroutines call it.
	Make func(abs, rel string) error
	// Batch makes many directories. Where it is nil, Make is called for each.
	Batch func(ctx context.Context, abs, rel []string) error
	// Close may be nil.
	Close func() error
}

func (d Dirs) close() error {
	if d.Close == nil {
		return nil
	}
	return d.Close()
}

func (d Dirs) batch(ctx context.Context, abs, rel []string) error {
	if d.Batch != nil {
		return d.Batch(ctx, abs, rel)
	}
	for i := range abs {
		if err := d.Make(abs[i], rel[i]); err != nil {
			return err
		}
	}
	return nil
}

// surviving returns the promise of directories: a crash leaves a prefix of a path at
// any level.
func surviving(level durability.Level) run.Promise {
	return job.Promise(level, durability.Prefix)
}

// stateless returns the Open of a way that needs only the absolute path.
func stateless(f func(path string) error) func(job.Site) (Dirs, error) {
	return job.Fixed(Dirs{Make: func(abs, _ string) error { return f(abs) }})
}

// The ways without Stele.

func osMkdirAll() Way {
	return Way{
		Name: "os.MkdirAll", Promise: surviving(durability.Kill), Baseline: true,
		Doc:  "the standard library: stat from the leaf up to what exists, then mkdir down again",
		Open: stateless(func(path string) error { return os.MkdirAll(path, Perm) }),
	}
}

func loopOfMkdir() Way {
	return Way{
		Name: "loop of os.Mkdir", Promise: surviving(durability.Kill),
		Doc: `os.Mkdir of each prefix below the root, ignoring "exists"`,
		Open: func(at job.Site) (Dirs, error) {
			return Dirs{Make: func(abs, _ string) error { return MakeEach(abs, len(at.Dir)+1) }}, nil
		},
	}
}

// MakeEach makes each prefix of path that is longer than from bytes.
func MakeEach(path string, from int) error {
	for i := from; i <= len(path); i++ {
		if i < len(path) && !os.IsPathSeparator(path[i]) {
			continue
		}
		if err := os.Mkdir(path[:i], Perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func osRootMkdirAll() Way {
	return Way{
		Name: "os.Root.MkdirAll", Promise: surviving(durability.Kill),
		Doc: "the standard library confined to an open root, walking the path with openat",
		Open: func(at job.Site) (Dirs, error) {
			r, err := os.OpenRoot(at.Dir)
			if err != nil {
				return Dirs{}, err
			}
			return Dirs{
				Make:  func(_, rel string) error { return r.MkdirAll(rel, Perm) },
				Close: r.Close,
			}, nil
		},
	}
}

func mapCachedLoop() Way {
	return Way{
		Name: "map-cached loop", Promise: surviving(durability.Kill),
		Doc: "os.Mkdir of each prefix that is not in a map of those already made",
		Open: func(at job.Site) (Dirs, error) {
			c := mkdirCache{from: len(at.Dir) + 1, known: map[string]struct{}{}}
			return Dirs{Make: func(abs, _ string) error { return c.make(abs) }}, nil
		},
	}
}

// mkdirCache is the cache that services write by hand: safe for concurrent use,
// unbounded, and wrong once a directory is removed.
type mkdirCache struct {
	from  int // length of the root and its separator
	mu    sync.RWMutex
	known map[string]struct{}
}

func (c *mkdirCache) has(path string) bool {
	c.mu.RLock()
	_, ok := c.known[path]
	c.mu.RUnlock()
	return ok
}

func (c *mkdirCache) make(path string) error {
	if c.has(path) {
		return nil
	}
	for i := c.from; i <= len(path); i++ {
		if i < len(path) && !os.IsPathSeparator(path[i]) || c.has(path[:i]) {
			continue
		}
		if err := os.Mkdir(path[:i], Perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		c.mu.Lock()
		c.known[path[:i]] = struct{}{}
		c.mu.Unlock()
	}
	return nil
}

// mkdirAllSynced is a durable os.MkdirAll without a Maker. After os.MkdirAll the caller
// cannot tell which levels are new, so every parent is synced, from the leaf's up to
// the root.
func mkdirAllSynced() Way {
	return Way{
		Name: "os.MkdirAll + fsync", Promise: surviving(durability.Power), Baseline: true,
		Doc: "os.MkdirAll, then fsync of every parent from the leaf's up to the root",
		Open: func(at job.Site) (Dirs, error) {
			return Dirs{Make: func(abs, _ string) error {
				if err := os.MkdirAll(abs, Perm); err != nil {
					return err
				}
				for dir := filepath.Dir(abs); len(dir) >= len(at.Dir); dir = filepath.Dir(dir) {
					if err := datafile.SyncDir(dir); err != nil {
						return err
					}
				}
				return nil
			}}, nil
		},
	}
}

// mkdirAllSyncLater is the same for a batch that needs to be durable at its end only.
// It is the baseline where no way syncs path by path.
func mkdirAllSyncLater() Way {
	return Way{
		Name: "os.MkdirAll, fsync at the end", Promise: surviving(durability.Power),
		Doc: "os.MkdirAll of each path, then fsync of each distinct parent once",
		Open: func(at job.Site) (Dirs, error) {
			return Dirs{Batch: func(_ context.Context, abs, _ []string) error {
				return mkdirAllThenSync(at.Dir, abs)
			}}, nil
		},
	}
}

func mkdirAllThenSync(root string, abs []string) error {
	parents := map[string]struct{}{}
	for _, path := range abs {
		if err := os.MkdirAll(path, Perm); err != nil {
			return err
		}
		for dir := filepath.Dir(path); len(dir) >= len(root); dir = filepath.Dir(dir) {
			if _, ok := parents[dir]; ok {
				break // and so is everything above it
			}
			parents[dir] = struct{}{}
		}
	}
	for dir := range parents {
		if err := datafile.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func mkdirAll() Way {
	return Way{
		Name: "mkdir.All", Promise: surviving(durability.Kill),
		Doc:  "Stele's drop-in for os.MkdirAll",
		Open: stateless(func(path string) error { return mkdir.All(path, Perm) }),
	}
}

// byMaker returns the way of Dirs that use an open Maker.
func byMaker(name, doc string, o mkdir.Options, dirs func(m *mkdir.Maker) Dirs) Way {
	return Way{Name: name, Doc: doc, Promise: surviving(o.Level), Open: func(at job.Site) (Dirs, error) {
		m, err := mkdir.OpenRoot(at.Dir, o)
		if err != nil {
			return Dirs{}, err
		}
		d := dirs(m)
		d.Close = m.Close
		return d, nil
	}}
}

func makerAll(name, doc string, o mkdir.Options) Way {
	return byMaker(name, doc, o, func(m *mkdir.Maker) Dirs {
		return Dirs{Make: func(_, rel string) error { return m.All(rel, Perm) }}
	})
}

// makerBatch has no Make: a batch is for many paths.
func makerBatch(name, doc string, o mkdir.Options) Way {
	return byMaker(name, doc, o, func(m *mkdir.Maker) Dirs {
		return Dirs{Batch: func(ctx context.Context, _, rel []string) error {
			_, err := m.Batch(ctx, slices.Values(rel), Perm)
			return err
		}}
	})
}

// onePathWays make one path a call.
func onePathWays() []Way {
	return []Way{
		osMkdirAll(), loopOfMkdir(), osRootMkdirAll(), mapCachedLoop(), mkdirAll(),
		makerAll("Maker.All", "a Maker that knows what it has made",
			mkdir.Options{Level: durability.Kill}),
		makerAll("Maker.All confined", "the same, never outside its root whatever symlinks are planted",
			mkdir.Options{Level: durability.Kill, Confined: true}),
		mkdirAllSynced(),
		makerAll("Maker.All power", "a Maker that syncs every parent not yet known to be durable",
			mkdir.Options{Level: durability.Power}),
		makerAll("Maker.All confined power", "the same, confined to its root",
			mkdir.Options{Level: durability.Power, Confined: true}),
	}
}

// batchWays make many paths a call.
func batchWays() []Way {
	n := max(2, runtime.GOMAXPROCS(0))
	return []Way{
		makerBatch("Maker.Batch 1 worker", "each distinct prefix once, in one goroutine",
			mkdir.Options{Level: durability.Kill, Workers: 1}),
		makerBatch("Maker.Batch N workers", "each distinct prefix once, in a goroutine per processor, two at least",
			mkdir.Options{Level: durability.Kill, Workers: n}),
		makerBatch("Maker.Batch 1 worker power", "each distinct prefix once, each parent synced once",
			mkdir.Options{Level: durability.Power, Workers: 1}),
		makerBatch("Maker.Batch N workers power", "the same in a goroutine per processor, two at least",
			mkdir.Options{Level: durability.Power, Workers: n}),
	}
}
