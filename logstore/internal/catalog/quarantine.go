package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A report says what was wrong with a segment, and what is still served of it.
type report struct {
	positions positions
	found     time.Time
	reason    string   // why it is in quarantine
	kept      string   // what is still served of it, and where
	lost      []string // damaged places
}

// reportLines is how many damaged places are listed.
const reportLines = 1000

func (r *report) text(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "segment:     %s\n", name)
	fmt.Fprintf(&b, "positions:   after %d, up to %d\n", r.positions.after, r.positions.upto)
	fmt.Fprintf(&b, "generation:  %d\n", r.positions.generation)
	fmt.Fprintf(&b, "quarantined: %s\n", r.found.UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, "why:         %s\n", r.reason)
	fmt.Fprintf(&b, "served:      %s\n", r.kept)
	if len(r.lost) > 0 {
		fmt.Fprintf(&b, "damaged:     %d\n", len(r.lost))
	}
	for i, l := range r.lost {
		if i == reportLines {
			fmt.Fprintf(&b, "  and %d more\n", len(r.lost)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", l)
	}
	return b.String()
}

// SetAside moves a segment of the store in dir into quarantine, durably, with a report
// that says why, and returns its path there. The caller holds the store's lock, and
// nobody has the segments open.
func SetAside(dir, name, why string, found time.Time) (path string, err error) {
	sp, ok := parseName(name)
	if !ok {
		return "", fmt.Errorf("catalog: %s is not the name of a segment", name)
	}
	at, err := OpenDir(dir, nil)
	if err != nil {
		return "", err
	}
	r := &report{positions: sp, found: found, reason: why, kept: keptByImport}
	path, err = at.SetAside(context.Background(), name, r.text)
	if err == nil {
		err = at.Sync(context.Background())
	}
	return path, errors.Join(err, at.Close())
}

// setAside moves a segment into quarantine.
func (c *Catalog) setAside(ctx context.Context, f *file, r *report) error {
	to, err := c.place.SetAside(ctx, f.name, r.text)
	if err != nil {
		return err
	}
	c.counters.quarantined.Add(1)
	e := c.about(f, Quarantined, r.reason)
	e.File = to
	c.tell(e)
	return nil
}

// countQuarantine counts the segments in quarantine, as a person may have taken some
// away. If that fails their number stays.
func (c *Catalog) countQuarantine(ctx context.Context) {
	if n, err := c.place.Quarantined(ctx); err == nil {
		c.counters.quarantined.Store(int64(n))
	}
}
