package catalog

import "testing"

// Versions that no snapshot uses are forgotten as new ones come: Maintain may be at one
// compaction for long.
func TestOldVersionsAreForgotten(t *testing.T) {
	o, _ := testOptions()
	s := open(t, t.TempDir(), o)
	defer closeCatalog(t, s)
	held := s.Snapshot()
	for n := range uint64(20) {
		publish(t, s, n+1, rowsOf(int64(1000*n), 1, "a"))
		if got := len(s.oldVersions); got > 2 {
			t.Fatalf("%d old versions after %d segments; want that of the snapshot, and the last", got, n+1)
		}
	}
	if s.oldVersions[0] != held.v {
		t.Error("the version of a snapshot was forgotten")
	}
	held.Release()
}
