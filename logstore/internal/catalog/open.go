package catalog

import (
	"context"
	"errors"
	"sync"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Open opens every segment of a place, removes leftovers of a crash, and moves damaged
// segments to quarantine. It closes the place if it fails. The caller holds the store's
// lock.
func Open(ctx context.Context, at Place, o Options) (*Catalog, error) {
	parts := newPartCache(o.CacheBytes)
	s := &Catalog{
		o: o, place: at,
		files:       newFileCache(at, o.Files, parts),
		parts:       parts,
		throttle:    newThrottle(o.Rate),
		maintenance: make(chan struct{}, 1),
	}
	s.maintenance <- struct{}{}
	s.truncated.Store(o.Truncated)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.loadVersion(ctx); err != nil {
		s.cancel()
		s.files.close()
		s.parts.close()
		at.Close()
		return nil, err
	}
	return s, nil
}

// A foundFile is a segment in the directory, as Open finds it.
type foundFile struct {
	name      string
	positions positions
	file      *file
	bad       *segment2.CorruptError // why it cannot be opened
	// unread is why it cannot be read, if it is open for reading only.
	unread error
	// properName is the name that its contents call for, if it has another.
	properName string
	verdict    Verdict
}

// loadVersion reads the directory, cleans up after a crash, and installs the first
// version.
func (c *Catalog) loadVersion(ctx context.Context) error {
	all, err := c.listFiles(ctx)
	if err != nil {
		return err
	}
	if err := c.readAll(ctx, all); err != nil {
		return err
	}
	if c.o.ReadOnly {
		all = c.dropUnread(all)
	}
	if err := c.judge(all); err != nil {
		return err
	}
	plan := planRecovery(all, c.truncated.Load())
	if c.o.Accept != nil {
		if err := c.o.Accept(plan.holdings()); err != nil {
			return err
		}
	}
	c.clock = newTrustedClock(c.o.Clock, plan.newest(), c.o.Unsealed || len(plan.served) > 0, c.o.Doubt)
	if c.o.ReadOnly {
		c.noteRejected(plan)
	} else if err := c.cleanUp(ctx, plan); err != nil {
		return err
	}
	c.installFirst(plan)
	if c.o.ReadOnly {
		c.readDamaged(ctx)
	}
	return ctx.Err()
}

// judge asks which files are segments of the store's log.
func (c *Catalog) judge(all []*foundFile) error {
	if c.o.Judge == nil {
		return nil
	}
	var named []*foundFile
	var list []Holding
	for _, f := range all {
		if f.properName == "" {
			named, list = append(named, f), append(list, holdingOf(f.file))
		} else {
			f.verdict.Other = otherLogs(f.file.info.Log, c.o.Log)
		}
	}
	verdicts, err := c.o.Judge(list)
	for i, v := range verdicts {
		named[i].verdict = v
	}
	return err
}

// cleanUp removes the leftovers of a crash and quarantines rejected files.
func (c *Catalog) cleanUp(ctx context.Context, plan recoveryPlan) error {
	if len(plan.leftovers)+len(plan.rejected) == 0 {
		return nil
	}
	// The segments that replace them may have been renamed just before a kill,
	// and not be durable yet.
	if err := c.place.SyncNames(ctx); err != nil {
		return err
	}
	for _, f := range plan.leftovers {
		c.files.evict(f.file)
		if err := c.remove(ctx, f.name); err != nil {
			return err
		}
		c.counters.leftovers.Add(1)
		c.tell(c.about(f.file, Leftover, ""))
	}
	if err := c.announceRejected(plan.rejected); err != nil {
		return err
	}
	for _, f := range plan.rejected {
		c.files.evict(f.file)
		r := &report{positions: f.positions, found: c.o.Clock.Now(), reason: f.why, kept: f.kept}
		if err := c.setAside(ctx, f.file, r); err != nil {
			return err
		}
	}
	return c.place.Sync(ctx)
}

func (c *Catalog) installFirst(plan recoveryPlan) {
	var files []*file
	for _, f := range plan.served {
		files = append(files, f.file)
		if !f.verdict.Other {
			c.upto.Store(max(c.upto.Load(), f.positions.upto))
		}
	}
	for _, f := range plan.unreadable {
		f.file.damage.Store(f.bad)
		c.unreadable = append(c.unreadable, f.file)
		c.counters.damaged.Add(1)
		c.tellDamage(f.file, f.bad)
		c.upto.Store(max(c.upto.Load(), f.positions.upto))
	}
	c.tellUnserved()
	c.current.Store(new(version).apply(files, nil))
}

// listFiles lists the segments, and removes files that were not completed.
func (c *Catalog) listFiles(ctx context.Context) (all []*foundFile, err error) {
	names, err := c.place.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if sp, ok := parseName(name); ok {
			all = append(all, &foundFile{name: name, positions: sp, file: c.newFile(name, sp)})
		}
	}
	c.countQuarantine(ctx)
	return all, nil
}

// openAtOnce is how many files are opened at once. That is I/O, so it does not
// depend on how many CPUs there are.
const openAtOnce = 8

// readAll opens all files.
func (c *Catalog) readAll(ctx context.Context, all []*foundFile) error {
	next := make(chan *foundFile)
	errs := make(chan error, 1)
	var wg sync.WaitGroup
	for range min(openAtOnce, len(all)) {
		wg.Go(func() {
			for f := range next {
				if err := c.readFile(ctx, f); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	var err error
	for _, f := range all {
		if err = ctx.Err(); err != nil || len(errs) > 0 {
			break
		}
		next <- f
	}
	close(next)
	wg.Wait()
	select {
	case err = <-errs:
	default:
	}
	return err
}

func (c *Catalog) readFile(ctx context.Context, f *foundFile) error {
	h, err := c.files.acquire(ctx, f.file)
	if bad, ok := errors.AsType[*segment2.CorruptError](err); ok {
		f.bad = bad
		return nil
	}
	if err != nil && c.o.ReadOnly {
		f.unread = err
		return nil
	}
	if err != nil {
		return err
	}
	defer h.unref()
	c.files.trim(h)
	if p := positionsOf(f.file.info); p != f.positions && !c.o.anyPositions {
		f.properName = p.String()
	}
	return nil
}
