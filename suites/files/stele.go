package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/tempfile"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/suites/job"
)

// atLevel names a way by its level.
func atLevel(level durability.Level, name string) string {
	if level == durability.Power {
		return name + " power"
	}
	return name
}

// openFilled opens a Dir whose subdirectories are there and, at level Power, known to
// be durable, as they are in a service after the first minute.
func openFilled(root string, o newfile.Options) (*newfile.Dir, error) {
	d, err := newfile.OpenDir(root, o)
	if err != nil || o.Shards == 0 {
		return d, err
	}
	seen := map[string]bool{}
	var names []string
	for i := 0; len(seen) < o.Shards; i++ {
		name := leftOverPrefix + strconv.Itoa(i)
		path := d.Path(name)
		if shard := path[:len(path)-len(name)]; !seen[shard] {
			seen[shard] = true
			names = append(names, name)
		}
	}
	if _, err := d.Batch(context.Background(), slices.Values(names), filePerm, nil); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// dirWay returns a way that opens a Dir and creates files by it. Level None is for
// files without a name, which a Dir of level Kill makes.
func dirWay(name, doc string, after durability.After, o newfile.Options, files func(d *newfile.Dir) (Files, error)) Way {
	level := o.Level
	if level == durability.None {
		o.Level = durability.Kill
	}
	return Way{
		Name: atLevel(level, name), Doc: doc, Promise: job.Promise(level, after),
		Open: func(at job.Site) (Files, error) {
			d, err := openFilled(at.Dir, o)
			if err != nil {
				return Files{}, err
			}
			f, err := files(d)
			if err != nil {
				return Files{}, errors.Join(err, d.Close())
			}
			end := f.close
			f.Close = func() error { return errors.Join(end(), d.Close()) }
			return f, nil
		},
	}
}

// DirCreate is newfile.Dir.Create.
func DirCreate(name, doc string, o newfile.Options) Way {
	power := o.Level == durability.Power
	return dirWay(name, doc, durability.Torn, o, func(d *newfile.Dir) (Files, error) {
		return Files{Create: func(_, name string, data []byte) error {
			f, err := d.Create(name, filePerm)
			if err != nil {
				return err
			}
			return finish(f, data, power)
		}}, nil
	})
}

func dirTouch(level durability.Level) Way {
	return dirWay("Dir.Touch", "mknodat: made, and not opened", durability.OldOrNew, newfile.Options{Level: level},
		func(d *newfile.Dir) (Files, error) {
			return Files{Create: func(_, name string, data []byte) error {
				if len(data) > 0 {
					return errors.New("touch makes empty files only")
				}
				return d.Touch(name, filePerm)
			}}, nil
		})
}

func dirBatch(name, doc string, o newfile.Options) Way {
	return dirWay(name, doc, durability.Torn, o, func(d *newfile.Dir) (Files, error) {
		return Files{Batch: func(ctx context.Context, _, names []string) error {
			_, err := d.Batch(ctx, slices.Values(names), filePerm, nil)
			return err
		}}, nil
	})
}

// NeedUnnamed returns an errors.ErrUnsupported for a directory in which
// newfile.Anonymous uses a hidden name, which is another way.
func NeedUnnamed(d *newfile.Dir) error {
	f, err := newfile.Anonymous(d, filePerm)
	if err != nil {
		return err
	}
	if tempfile.Is(filepath.Base(f.Name())) {
		err = job.Unsupported("the file system has no files without a name (O_TMPFILE)")
	}
	return errors.Join(err, f.Close())
}

// publish is an anonymous file that gets its name when it is complete.
func publish(level durability.Level) Way {
	return dirWay("Anonymous + Publish", "O_TMPFILE, then linkat under its name", durability.OldOrNew, newfile.Options{Level: level},
		func(d *newfile.Dir) (Files, error) {
			return Files{Create: func(_, name string, data []byte) error {
				f, err := newfile.Anonymous(d, filePerm)
				if err != nil {
					return err
				}
				if len(data) > 0 {
					_, err = f.Write(data)
				}
				if err == nil {
					err = f.Publish(name)
				}
				return errors.Join(err, f.Close())
			}}, NeedUnnamed(d)
		})
}

func queueCreate(name, doc string, o newfile.Options) Way {
	power := o.Level == durability.Power
	return dirWay(name, doc, durability.Torn, o, func(d *newfile.Dir) (Files, error) {
		q, err := newfile.NewQueue(d, newfile.QueueOptions{Perm: filePerm})
		if err != nil {
			return Files{}, err
		}
		return Files{
			Create: func(_, name string, data []byte) error {
				f, err := q.Create(context.Background(), name)
				if err != nil {
					return err
				}
				return finish(f, data, power)
			},
			Close: q.Close,
		}, nil
	})
}

// queueSubmit asks for the next file without waiting for the one before.
func queueSubmit(level durability.Level) Way {
	return dirWay("Queue.Submit", "requests without waiting for the files: time/op ends when all are answered, the percentiles are of asking",
		durability.OldOrNew, newfile.Options{Level: level}, func(d *newfile.Dir) (Files, error) {
			q, err := newfile.NewQueue(d, newfile.QueueOptions{Perm: filePerm})
			if err != nil {
				return Files{}, err
			}
			a := NewAnswers()
			return Files{
				Create: func(_, name string, data []byte) error {
					if len(data) > 0 {
						return errors.New("Queue.Submit does not wait for the file: it makes empty files only")
					}
					a.Expect()
					err := q.Submit(context.Background(), newfile.Request{Name: name, Done: func(f *os.File, err error) {
						if err == nil {
							err = f.Close()
						}
						a.Answer(err)
					}})
					if err != nil {
						a.Answer(err)
					}
					return err
				},
				Wait: a.Wait, Close: q.Close,
			}, nil
		})
}

// Answers counts the requests sent and those answered; its Wait waits for the rest.
type Answers struct {
	open atomic.Int64
	mu   sync.Mutex
	none sync.Cond // open became 0, or an error was noted
	err  error     // the first one
}

// NewAnswers returns an Answers that waits for nothing yet.
func NewAnswers() *Answers {
	a := &Answers{}
	a.none.L = &a.mu
	return a
}

// Expect counts a request that is about to be sent.
func (a *Answers) Expect() { a.open.Add(1) }

// Answer counts the answer to a request. Wait returns the first error.
func (a *Answers) Answer(err error) {
	left := a.open.Add(-1)
	if err == nil && left > 0 {
		return
	}
	a.mu.Lock()
	if a.err == nil {
		a.err = err
	}
	a.none.Broadcast()
	a.mu.Unlock()
}

// Wait returns when every request is answered.
func (a *Answers) Wait() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.open.Load() > 0 {
		a.none.Wait()
	}
	return a.err
}

// The ways that give no file a name: nothing survives.

func unnamed() Way {
	return dirWay("Anonymous", "O_TMPFILE: a file without a name, never given one", durability.Torn, newfile.Options{Level: durability.None},
		func(d *newfile.Dir) (Files, error) {
			return Files{Create: func(_, _ string, data []byte) error {
				f, err := newfile.Anonymous(d, filePerm)
				if err != nil {
					return err
				}
				return finish(f, data, false)
			}}, NeedUnnamed(d)
		})
}

func memory() Way {
	return Way{
		Name: "Memory", Promise: job.Promise(durability.None, durability.Torn),
		Doc: "memfd_create: a file in memory, whatever the directory is on",
		Open: func(job.Site) (Files, error) {
			return Files{Create: func(_, name string, data []byte) error {
				f, err := newfile.Memory(name)
				if err != nil {
					return err
				}
				return finish(f, data, false)
			}}, nil
		},
	}
}

// poolLimit is the number of files that goroutines use at once.
const poolLimit = 1000

func pooled() Way {
	return dirWay("Pool", "open files without a name, emptied and used again", durability.Torn, newfile.Options{Level: durability.None},
		func(d *newfile.Dir) (Files, error) {
			p, err := newfile.NewPool(d, poolLimit)
			if err != nil {
				return Files{}, err
			}
			return Files{
				Create: func(_, _ string, data []byte) error {
					s, err := p.Get(context.Background())
					if err != nil {
						return err
					}
					if len(data) > 0 {
						_, err = s.Write(data)
					}
					return errors.Join(err, s.Close())
				},
				Close: p.Close,
			}, nil
		})
}

const (
	docDirCreate = "openat relative to a directory that is held open, without the poller's calls"
	// DocShards is the Doc of ways that spread files over shards.
	DocShards = "the same, spread over hashed subdirectories, which are there"
	docQueue  = "handed to a few goroutines, which make the files; each caller waits for its own"
)

// DirOptions returns the options of a Dir with so many shards.
func DirOptions(level durability.Level, shards int) newfile.Options {
	return newfile.Options{Level: level, Shards: shards}
}

// oneFileWays returns all ways of making one file, with content or empty.
func oneFileWays(content bool) []Way {
	list := []Way{
		osCreate(), osCreateTemp(), osRootCreate(), tempAndRename(durability.Kill),
		DirCreate(nameDirCreate, docDirCreate, DirOptions(durability.Kill, 0)),
		DirCreate(nameDirCreate16, DocShards, DirOptions(durability.Kill, 16)),
		DirCreate(nameDirCreate256, DocShards, DirOptions(durability.Kill, 256)),
		DirCreate(nameDirCreate4096, DocShards, DirOptions(durability.Kill, 4096)),
		queueCreate(nameQueueCreate, docQueue, DirOptions(durability.Kill, 0)),
		queueCreate(nameQueueCreate+" 256 shards", docQueue, DirOptions(durability.Kill, 256)),
		publish(durability.Kill),
		osCreateSynced(), tempAndRename(durability.Power),
		DirCreate(nameDirCreate, docDirCreate+"; the directory is synced", DirOptions(durability.Power, 0)),
		DirCreate(nameDirCreate256, DocShards+"; the subdirectory is synced", DirOptions(durability.Power, 256)),
		queueCreate(nameQueueCreate, docQueue+"; a batch shares one sync of the directory", DirOptions(durability.Power, 0)),
		queueCreate(nameQueueCreate+" 256 shards", docQueue+"; a batch syncs each subdirectory once", DirOptions(durability.Power, 256)),
		publish(durability.Power),
		unlinkedTemp(), unnamed(), memory(), pooled(),
	}
	if !content {
		list = append(list, dirTouch(durability.Kill), dirTouch(durability.Power))
	}
	return list
}

// scaleWays returns the ways that are measured under more and more goroutines.
func scaleWays() []Way {
	return []Way{
		osCreate(),
		DirCreate(nameDirCreate, docDirCreate, DirOptions(durability.Kill, 0)),
		DirCreate(nameDirCreate256, DocShards, DirOptions(durability.Kill, 256)),
		queueCreate(nameQueueCreate, docQueue, DirOptions(durability.Kill, 0)),
	}
}

// queueWays compare a Queue with direct calls.
func queueWays() []Way {
	var list []Way
	for _, level := range []durability.Level{durability.Kill, durability.Power} {
		direct := DirCreate(nameDirCreate, docDirCreate, DirOptions(level, 0))
		direct.Baseline = true
		list = append(list, direct, queueCreate(nameQueueCreate, docQueue, DirOptions(level, 0)), queueSubmit(level))
	}
	return list
}

func batchWays() []Way {
	all := "all names in one call, a goroutine per processor"
	return []Way{
		osCreate(),
		dirBatch("Dir.Batch", "all names in one call, by mknodat", DirOptions(durability.Kill, 0)),
		dirBatch("Dir.Batch 256 shards", all+", over subdirectories", DirOptions(durability.Kill, 256)),
		osCreateSyncedLater(),
		dirBatch("Dir.Batch", "all names in one call, and one sync of the directory", DirOptions(durability.Power, 0)),
		dirBatch("Dir.Batch 16 shards", all+", and one sync of each subdirectory", DirOptions(durability.Power, 16)),
	}
}

// leftOverWays make files beside the left-overs. Subdirectories are new, as in a
// service that begins to use them late.
func leftOverWays() []Way {
	return []Way{
		osCreate(), osCreateTemp(),
		DirCreate(nameDirCreate, docDirCreate, DirOptions(durability.Kill, 0)),
		DirCreate(nameDirCreate256, "in new subdirectories beside the left-overs", DirOptions(durability.Kill, 256)),
		dirTouch(durability.Kill),
	}
}
