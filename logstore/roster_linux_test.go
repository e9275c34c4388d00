package logstore

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// What retention deletes on a full disk, where the log cannot take the change of the
// roster, is not called missing after a crash.
func TestRetainOnFullDisk(t *testing.T) {
	// The segments are too far apart for a compaction.
	sealOne := func(s *Store, i int64) {
		t.Helper()
		mustAppend(t, s, one(MustLabels("a", "b"), i*1e16, "line"))
		mustSeal(t, s)
	}
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			disk := scratchImage(t, kind, 512<<20)
			dir := filepath.Join(disk, "store")
			o := anyTime()
			s := openTest(t, dir, o)
			for i := range int64(5) {
				sealOne(s, i)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			fill(t, disk)
			var full atomic.Bool
			full.Store(true)
			o.RetainBytes = 1
			o.wrapLog = func(l log) log { return &fullLog{l, &full} }
			s = openTest(t, dir, o)
			until(t, "all segments but one are deleted", func() bool {
				files, err := filepath.Glob(filepath.Join(dir, "segments", "*.seg"))
				return err == nil && len(files) == 1
			})
			if len(marksIn(dir)) == 0 {
				t.Error("there are no marks")
			}
			noAlarm := func(what, dir string) {
				t.Helper()
				if v, err := Verify(t.Context(), dir, nil); err != nil || len(v.Missing) > 0 {
					t.Errorf("%s: verified: %v, %v", what, v.Missing, err)
				}
				r, err := OpenReadOnly(dir, anyTime())
				if err != nil {
					t.Fatal(err)
				}
				if events := r.Report().Events; len(events) > 0 {
					t.Errorf("%s: opened for reading only: %v", what, events)
				}
				c := openTest(t, dir, anyTime())
				if events := c.Report().Events; len(events) > 0 {
					t.Errorf("%s: %v", what, events)
				}
				mustAppend(t, c, one(MustLabels("a", "b"), 9, "line"))
				mustSeal(t, c)
				if marks := marksIn(dir); len(marks) > 0 {
					t.Errorf("%s: a seal leaves the marks %v", what, marks)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			noAlarm("after a crash", copyStore(t, dir))

			full.Store(false)
			files, err := filepath.Glob(filepath.Join(disk, "ballast*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "free space is seen", func() bool { return s.space.check() == nil })
			sealOne(s, 6)
			if marks := marksIn(dir); len(marks) > 0 {
				t.Errorf("a seal leaves the marks %v", marks)
			}
			noAlarm("with the roster", copyStore(t, dir))
			if err := s.Close(); err != nil { // before the unmount
				t.Error(err)
			}
		})
	}
}
