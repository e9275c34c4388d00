package logstore

import (
	"runtime"
	"time"
)

// A turn is the time for which a goroutine that has much to do holds a processor: seals
// and queries. Appends that wait for one come first; so each of those gives it up now and
// then, and as often as the other ones, so that their shares are even.
type turn struct{ began time.Duration } // since epoch

// epoch is any moment: the time since then is read in half the time that time.Now takes.
var epoch = time.Now()

// turnTime is short beside a sync, and long beside what it takes to give a processor up.
const turnTime = 500 * time.Microsecond

// pass gives up the processor if the turn is over.
func (t *turn) pass() {
	if time.Since(epoch)-t.began >= turnTime {
		runtime.Gosched()
		t.began = time.Since(epoch)
	}
}
