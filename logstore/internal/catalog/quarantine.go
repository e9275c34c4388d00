package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/sys"
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

// quarantine moves a file from segments/ into quarantine/, under its name or,
// where that is taken, the next one with a number. Its report is there and
// durable before it is. The move is durable after syncDirs.
func (c *Catalog) quarantine(name string, r *report) error {
	if _, err := c.root.Lstat(QuarantineDir); errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(c.dir); err != nil { // somebody has removed it
			return err
		}
	}
	base := strings.TrimSuffix(name, SegmentSuffix)
	for n := 1; ; n++ {
		to := base
		if n > 1 {
			to = fmt.Sprintf("%s.%d", base, n)
		}
		taken, err := c.quarantined(to)
		if err != nil {
			return err
		}
		if taken {
			continue
		}
		path := filepath.Join(c.dir, QuarantineDir, to)
		err = c.writeReport(path+ReportSuffix, r.text(to+SegmentSuffix))
		if err != nil {
			return err
		}
		err = c.root.RenameNew(SegmentDir+"/"+name, QuarantineDir+"/"+to+SegmentSuffix)
		if errors.Is(err, fs.ErrExist) {
			continue // created just now
		}
		if err != nil {
			return &fs.PathError{Op: "rename", Path: path + SegmentSuffix, Err: err}
		}
		c.counters.quarantined.Add(1)
		return nil
	}
}

// countQuarantine counts the segments in quarantine, as a person may have taken some
// away. If the directory cannot be read their number stays.
func (c *Catalog) countQuarantine() {
	entries, err := os.ReadDir(filepath.Join(c.dir, QuarantineDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	n := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), SegmentSuffix) {
			n++
		}
	}
	c.counters.quarantined.Store(int64(n))
}

// quarantined reports whether a segment of that name is in quarantine. A report
// alone is of a move that a crash cut short: it is written again.
func (c *Catalog) quarantined(base string) (bool, error) {
	_, err := c.root.Lstat(QuarantineDir + "/" + base + SegmentSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "stat", Path: filepath.Join(c.dir, QuarantineDir, base+SegmentSuffix), Err: err}
	}
	return true, nil
}

func (c *Catalog) writeReport(path, text string) error {
	f, err := atomicfile.Create(path, 0o644, atomicfile.Options{Temp: "*" + tempSuffix})
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write([]byte(text)); err != nil {
		return err
	}
	return f.Commit()
}

// syncDir makes the names in a directory of the store durable.
func (c *Catalog) syncDir(name string) error {
	d, err := c.root.Open(name, sys.ForSync)
	if err == nil {
		err = d.Sync()
		d.Close()
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: filepath.Join(c.dir, name), Err: err}
	}
	return nil
}
