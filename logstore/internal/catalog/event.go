package catalog

import (
	"fmt"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// An EventKind says what happened to a segment.
type EventKind int

const (
	Damaged     EventKind = iota + 1 // its bytes are not as they were written
	Salvaged                         // what was intact of it is served again
	Quarantined                      // its file is in quarantine
	Retired                          // retention deletes it
	Leftover                         // a crash had left it, and Open removes it
	Foreign                          // it is not of the store's log, and OpenReadOnly passes it over
)

// An Event tells what happened to a segment.
type Event struct {
	Kind   EventKind
	File   string // path: in quarantine its new one
	Offset int64  // of the damage in bytes
	Reason string // "" for Leftover

	After, Upto      uint64 // its positions
	Size             int64  // bytes
	MinTime, MaxTime int64
	// Rows is how many entries it has; of Salvaged how many were lost, -1 if it
	// is not known.
	Rows int64
}

// tell calls Options.Events.
func (c *Catalog) tell(e Event) {
	if c.o.Events != nil {
		c.o.Events(e)
	}
}

// about returns an event about a file.
func (c *Catalog) about(f *file, kind EventKind, reason string) Event {
	return Event{
		Kind: kind, File: c.path(f), Reason: reason,
		After: f.positions.after, Upto: f.positions.upto,
		Size: f.info.Size, MinTime: f.info.MinTime, MaxTime: f.info.MaxTime, Rows: f.info.Rows,
	}
}

func (c *Catalog) tellDamage(f *file, bad *segment2.CorruptError) {
	e := c.about(f, Damaged, bad.Reason)
	if e.Offset = bad.Offset; bad.Block >= 0 {
		e.Reason = fmt.Sprintf("block %d: %s", bad.Block, bad.Reason)
	}
	c.tell(e)
}

// tellSalvage tells that f, which had the damage bad, was replaced by kept of its
// entries.
func (c *Catalog) tellSalvage(f *file, kept int64, served string) {
	e := c.about(f, Salvaged, "served: "+served)
	if e.Rows -= kept; f.info.Rows == 0 { // its index is damaged
		e.Rows = -1
	}
	c.tell(e)
}
