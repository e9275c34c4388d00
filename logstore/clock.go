package logstore

import (
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// A Clock tells the time. Now may jump, as when somebody sets it. Elapsed never
// does: it is the time since any fixed moment, and grows by real time, also
// while the machine is suspended. Many goroutines may call both at once.
type Clock interface {
	Now() time.Time
	Elapsed() time.Duration
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Elapsed is the time since boot. Where that is unknown it is Go's monotonic
// clock, which may stop while the machine is suspended: then the time after that
// looks like a jump, and retention waits for it to be trusted.
func (systemClock) Elapsed() time.Duration {
	if d, err := sys.Uptime(); err == nil {
		return d
	}
	return time.Since(processStart)
}

var processStart = time.Now()
