//go:build !linux

package sys

import (
	"fmt"
	"runtime"
)

// Unavailable is the error of a value that only some systems report.
func Unavailable() error {
	return fmt.Errorf("not available on %s/%s", runtime.GOOS, runtime.GOARCH)
}
