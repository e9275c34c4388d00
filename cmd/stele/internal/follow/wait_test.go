package follow

import (
	"testing"
	"time"
)

// Events are taken while a directory is watched or left, as that may wait for them.
func TestEventsAreTakenWhileWatchesChange(t *testing.T) {
	x := newFixture(t)
	w := NewWatcher()
	defer w.Close()
	s := w.subscribe(x.path)
	defer s.close()
	if s.names == nil {
		t.Skip("the system watches no files")
	}
	w.watching.Lock()
	defer w.watching.Unlock()
	x.write("a\n")
	select {
	case <-s.wake:
	case <-time.After(time.Minute):
		t.Error("no event came")
	}
}
