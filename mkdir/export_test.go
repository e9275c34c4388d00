package mkdir

import (
	"os"
	"testing"
	"time"
)

// NextTick waits until what is made from now on is younger than what was made
// before, by the clock that file systems have: it goes by ticks of some
// milliseconds, and a busy machine may be late with one.
func NextTick(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	made := func() time.Time {
		name, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return fi.ModTime()
	}
	for first := made(); !made().After(first); {
		time.Sleep(time.Millisecond)
	}
}
