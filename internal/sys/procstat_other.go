//go:build !linux

package sys

import "time"

// PeakRSS is not offered here.
func PeakRSS() (int64, error) { return 0, unavailable() }

// RunDelays is not offered here.
func RunDelays() (map[int]time.Duration, error) { return nil, unavailable() }

// AllCPUTime is not offered here.
func AllCPUTime() (CPUTime, error) { return CPUTime{}, unavailable() }
