package logstore

import (
	"fmt"
	"testing"
	"unsafe"
)

// The same labels share memory while the table has them, and it takes no more than it
// may, whatever it is asked for.
func TestLabelTable(t *testing.T) {
	const most = 64 << 10
	table := newLabelTable(most)
	first := table.of(MustLabels("n", "often").enc)
	for i := range 10_000 {
		l := MustLabels("n", fmt.Sprint(i), "large", fmt.Sprintf("%0*d", i%3_000, i))
		if got := table.of(l.enc); got != l {
			t.Fatalf("%v in place of %v", got, l)
		}
		again := table.of(MustLabels("n", "often").enc)
		if again != first || unsafe.StringData(again.enc) != unsafe.StringData(first.enc) {
			t.Fatal("labels that are asked for all the time are there twice")
		}
		if n := table.memory(); n > most {
			t.Fatalf("%d bytes after %d labels; want at most %d", n, i+1, most)
		}
	}
	if table.memory() < most/4 {
		t.Errorf("%d bytes of %d are used", table.memory(), most)
	}
	if got := table.of(""); got != (Labels{}) {
		t.Errorf("no labels are %v", got)
	}
}
