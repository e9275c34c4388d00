//go:build !linux

package procstat

import (
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// PeakRSS is not offered here.
func PeakRSS() (int64, error) { return 0, sys.Unavailable() }

// RunDelays is not offered here.
func RunDelays() (map[int]time.Duration, error) { return nil, sys.Unavailable() }

// AllCPUTime is not offered here.
func AllCPUTime() (CPUTime, error) { return CPUTime{}, sys.Unavailable() }
