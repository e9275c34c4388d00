package claims

import (
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/suites/internal/suitetest"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/wals"
)

// Both readings of A keep what several appenders add.
func TestL10WaysKeepRecords(t *testing.T) {
	for _, w := range []wals.Way{threeLevelWay(l10Coded, "", durability.None), threeLevelWay(l10Meant, "", durability.Power)} {
		t.Run(w.Name, func(t *testing.T) {
			dir := suitetest.MemoryDir(t)
			l, err := w.Open(job.Site{Dir: dir, Ops: suitetest.LogRecords, Size: suitetest.LogRecordSize})
			if err != nil {
				t.Fatal(err)
			}
			suitetest.KeepsRecords(t, dir, l.Append, l.Close)
		})
	}
}
