package logstore

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
)

// Bounds of what logKeeper keeps in quarantine without a whole record.
const (
	keptTails     = 64
	keptTailBytes = 256 << 20
)

// A keptTail is a file of the log in quarantine.
type keptTail struct {
	path    string
	size    int64
	changed time.Time
	records int // whole ones, by its report
}

// trim removes files of the log without a whole record from quarantine until the bounds
// hold for those, the oldest ones first. latest stays. What cannot be removed stays.
func (k *logKeeper) trim(latest string) {
	list := slices.DeleteFunc(k.tails(), func(t keptTail) bool { return t.records > 0 })
	slices.SortFunc(list, func(a, b keptTail) int {
		return cmp.Or(a.changed.Compare(b.changed), strings.Compare(a.path, b.path))
	})
	bytes, count := int64(0), len(list)
	for _, t := range list {
		bytes += t.size
	}
	for _, t := range list {
		if count <= keptTails && bytes <= keptTailBytes {
			return
		}
		if t.path == latest || os.Remove(t.path) != nil {
			continue
		}
		// A report without its file is of one that was discarded, if this fails.
		os.Remove(reportOf(t.path))
		count--
		bytes -= t.size
		k.tell(Event{
			Kind: EventDiscarded, File: t.path, Bytes: t.size,
			Reason: fmt.Sprintf("it has no whole record, and more than %d such files, or %d MiB, were in quarantine", keptTails, keptTailBytes>>20),
		})
	}
}

func reportOf(path string) string { return strings.TrimSuffix(path, logSuffix) + catalog.ReportSuffix }

// tails lists the files of the log in quarantine.
func (k *logKeeper) tails() (list []keptTail) {
	dir := filepath.Join(k.dir, catalog.QuarantineDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		ours := strings.HasPrefix(name, "torn-") || strings.HasPrefix(name, "unused-")
		fi, err := e.Info()
		if !ours || !strings.HasSuffix(name, logSuffix) || err != nil || !fi.Mode().IsRegular() {
			continue
		}
		t := keptTail{path: filepath.Join(dir, name), size: fi.Size(), changed: fi.ModTime()}
		t.records = recordsIn(reportOf(t.path))
		list = append(list, t)
	}
	return list
}

// recordsIn returns how many whole records a torn tail has, by its report. Without one,
// there may be some.
func recordsIn(report string) (n int) {
	p, err := os.ReadFile(report)
	if err != nil {
		return 1
	}
	for line := range strings.Lines(string(p)) {
		if _, err := fmt.Sscanf(line, "records: %d,", &n); err == nil {
			return n
		}
	}
	if strings.HasPrefix(filepath.Base(report), "unused-") {
		return 0
	}
	return 1
}
