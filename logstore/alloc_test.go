//go:build !race

package logstore

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

// An append allocates nothing of its own. (Except under the race detector, where
// sync.Pool drops items on purpose.)
func TestAppendAllocatesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nor do pools without a collection
	s := openTest(t, t.TempDir(), Options{Level: durability.Kill, MinFree: 1})
	var b Batch
	now := time.Now().UnixNano()
	for i := range 10 {
		st := Stream{Labels: MustLabels("app", "api", "host", fmt.Sprint(i))}
		for j, line := range lines(10, 20) {
			st.Entries = append(st.Entries, Entry{Time: now + int64(j), Line: line})
		}
		b = append(b, st)
	}
	mustAppend(t, s, b)
	// Rows grow by doubling, and chunks come now and then.
	if n := testing.AllocsPerRun(200, func() { mustAppend(t, s, b) }); n >= 2 {
		t.Errorf("%v allocations for a batch of 100 lines", n)
	}
}
