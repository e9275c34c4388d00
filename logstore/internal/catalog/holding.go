package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A Holding is what the name and the index of a segment say.
type Holding struct {
	After, Upto      uint64 // its positions
	Generation       uint32
	Rows             int64 // 0 if the index is damaged
	MinTime, MaxTime int64
	Log              [16]byte // whose positions these are; zero: unknown
	// The terms in which the records at Upto and at After were written; 0: unknown.
	Term, TermBefore uint64
}

// A Verdict says whether a segment is one of the store's log.
type Verdict struct {
	// Other: its positions are not those of the log. So it takes the place of no other
	// segment, and Upto does not count it.
	Other bool
	// Aside is why it is not served; "" if it is.
	Aside string
}

func holdingOf(f *file) Holding {
	return HoldingOf(f.positions.after, f.positions.upto, f.positions.generation, f.info)
}

// HoldingOf returns what the name and the index of a segment say.
func HoldingOf(after, upto uint64, generation uint32, i segment2.Info) Holding {
	return Holding{after, upto, generation, i.Rows, i.MinTime, i.MaxTime, i.Log, i.Term, i.TermBefore}
}

// Name returns the name of the segment's file.
func (h Holding) Name() string { return positions{h.After, h.Upto, h.Generation}.String() }

// Holdings returns the segments that are served, by position.
func (c *Catalog) Holdings() (list []Holding) {
	n := c.Snapshot()
	if n == nil {
		return nil
	}
	defer n.Release()
	return n.Holdings()
}

// Holdings returns the segments that are served, by position, and then those of a
// WholeSnapshot that are not.
func (n *Snapshot) Holdings() (list []Holding) {
	for _, f := range n.files() {
		list = append(list, holdingOf(f))
	}
	return list
}

func (n *Snapshot) files() []*file {
	return append(n.v.order[:len(n.v.order):len(n.v.order)], n.unreadable...)
}

// Unreadable returns the segments that Open found and that are not served until
// they are salvaged. It is called before Maintain.
func (c *Catalog) Unreadable() (list []Holding) {
	for _, f := range c.unreadable {
		list = append(list, holdingOf(f))
	}
	return list
}

// Unserved returns the damage of each segment that is not served until it is salvaged.
// It takes no lock. What is intact of one that is no longer among them is in every
// Snapshot from then on.
func (c *Catalog) Unserved() []error {
	if list := c.unserved.Load(); list != nil {
		return *list
	}
	return nil
}

// tellUnserved is called after each change of unreadable.
func (c *Catalog) tellUnserved() {
	var list []error
	for _, f := range c.unreadable {
		list = append(list, fmt.Errorf("%s waits for its salvage: %w", c.path(f), f.damage.Load()))
	}
	c.unserved.Store(&list)
	c.counters.unreadable.Store(int64(len(list)))
}

// holdings returns the segments that are served or salvaged.
func (p recoveryPlan) holdings() (list []Holding) {
	for _, f := range slices.Concat(p.served, p.unreadable) {
		h := holdingOf(f.file)
		h.After, h.Upto, h.Generation = f.positions.after, f.positions.upto, f.positions.generation
		list = append(list, h)
	}
	return list
}

// announceRejected tells Options.Removing of the files that Open moves to
// quarantine, but not of those that do not have positions of the log: the roster may
// miss what was there. Other segments may have some of their positions.
func (c *Catalog) announceRejected(files []rejectedFile) error {
	if c.o.Removing == nil || len(files) == 0 {
		return nil
	}
	var list []Holding
	for _, f := range files {
		if !f.foreign && !f.misplaced {
			list = append(list, holdingOf(f.file))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return c.o.Removing(list)
}

// announce tells Options.Removing of those files that nothing replaces, and returns
// the files that may be removed. The maintenance token is held.
func (c *Catalog) announce(files []*obsoleteFile) ([]*obsoleteFile, error) {
	if c.o.Removing == nil {
		return files, nil
	}
	var lone []Holding
	for _, g := range files {
		if g.lone && !g.announced {
			lone = append(lone, holdingOf(g.file))
		}
	}
	if len(lone) == 0 {
		return files, nil
	}
	err := c.o.Removing(lone)
	var ready []*obsoleteFile
	for _, g := range files {
		if g.announced = g.announced || err == nil; g.announced || !g.lone {
			ready = append(ready, g)
		}
	}
	if err != nil {
		err = errors.Join(errors.New("catalog: segments are not removed yet"), err)
	}
	return ready, err
}
