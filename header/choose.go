package header

import (
	"fmt"
	"io/fs"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/oldfile"
	"github.com/stele-go/stele/internal/sys"
)

// ways returns the strategies in the order in which they are tried, the fastest
// first. Measured with 10 MiB at level Kill (TestBars and suite header): Slot takes
// the same time for any size; Shift 1/10 of a copy; Clone 1/15. Of the two copies,
// KernelCopy moves 64 KiB at a time and nearly always takes the same time; Copy is
// faster where the kernel has large pieces of memory free, and waits for them
// otherwise. For a single piece Copy needs fewer calls.
func (o Options) ways(l sys.Layout, size int64) []Strategy {
	if o.Strategy != Auto {
		return []Strategy{o.Strategy}
	}
	ways := []Strategy{Clone, KernelCopy, Copy}
	if size <= pieceSize && !l.Remote() { // a server copies without sending the data here
		ways = []Strategy{Clone, Copy}
	}
	if o.Mode == InPlace {
		ways = append([]Strategy{Slot, Shift}, ways...)
	}
	return ways
}

// perform makes the edit by the first possible strategy. It returns the new file, if
// the caller has one to commit.
func (t *target) perform(e *edit, o Options, create creator) (*atomicfile.File, Result, error) {
	layout, err := sys.LayoutOf(t.f)
	if err != nil {
		return nil, Result{}, err
	}
	var tried Result // collects the reasons against each strategy
	for _, way := range o.ways(layout, t.size()) {
		var (
			f   *atomicfile.File
			res Result
			err error
		)
		switch way {
		case Slot:
			res, err = t.overwrite(e, o)
		case Shift:
			res, err = t.shift(e, o)
		default:
			f, res, err = t.rewrite(e, o, way, layout, create)
		}
		if isNotApplicable(err) {
			if o.Strategy != Auto {
				return nil, Result{}, fmt.Errorf("%w: %v: %w", ErrStrategy, way, err)
			}
			tried.addWhy(fmt.Sprintf("%v: %v", way, err))
			continue
		}
		if err != nil {
			return nil, Result{}, err
		}
		if e.record != nil && e.recordErr != nil {
			tried.addWhy(fmt.Sprintf("no record: %v", e.recordErr))
		}
		if res.Why != "" {
			tried.addWhy(res.Why)
		}
		res.Why = tried.Why
		return f, res, nil
	}
	return nil, Result{}, fmt.Errorf("%w: %s", ErrStrategy, tried.Why)
}

// create writes a new file that is not part of a batch.
func (t *target) create(o atomicfile.Options, perm fs.FileMode, fill func(content) error) (*atomicfile.File, error) {
	oldfile.Set(&o, t.f)
	f, err := atomicfile.Create(t.name, perm, o)
	if err != nil {
		return nil, t.withUserName(err)
	}
	if err := fill(f); err != nil {
		f.Abort()
		return nil, err
	}
	return f, nil
}

var strategyNames = [...]string{"auto", "slot", "shift", "clone", "kernel-copy", "copy"}

// String returns "auto", "slot", "shift", "clone", "kernel-copy" or "copy".
func (s Strategy) String() string {
	if int(s) < len(strategyNames) {
		return strategyNames[s]
	}
	return fmt.Sprintf("header.Strategy(%d)", uint8(s))
}

var modeNames = [...]string{"atomic", "in-place"}

// String returns "atomic" or "in-place".
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("header.Mode(%d)", uint8(m))
}
