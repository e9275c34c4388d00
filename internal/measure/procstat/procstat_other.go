//go:build !linux

package procstat

import (
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// PeakRSS is not offered here.
func PeakRSS() (int64, error) { return 0, sys.Unavailable() }

// ResetPeakRSS is not offered here.
func ResetPeakRSS() error { return sys.Unavailable() }

// RunDelays is not offered here.
func RunDelays() (map[int]time.Duration, error) { return nil, sys.Unavailable() }

// AllCPUTime is not offered here.
func AllCPUTime() (CPUTime, error) { return CPUTime{}, sys.Unavailable() }

// A Gauge is not offered here.
type Gauge struct{}

// OpenGauge is not offered here.
func OpenGauge() (*Gauge, error) { return nil, sys.Unavailable() }

// RSS is not offered here.
func (*Gauge) RSS() (int64, error) { return 0, sys.Unavailable() }

// Unwritten is not offered here.
func (*Gauge) Unwritten() (int64, error) { return 0, sys.Unavailable() }

// Close is not offered here.
func (*Gauge) Close() error { return sys.Unavailable() }
