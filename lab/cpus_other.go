//go:build !linux

package lab

import (
	"errors"
	"fmt"
	"runtime"
)

const cpuDir = ""

// pin is not offered here.
func pin([]int) (unpin func(), err error) {
	return nil, fmt.Errorf("lab: Options.CPUs: pin processes on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
