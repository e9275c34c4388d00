//go:build !linux

package sys

import (
	"fmt"
	"runtime"
)

// Unavailable is the error of a figure that only some systems give.
func Unavailable() error {
	return fmt.Errorf("not available on %s/%s", runtime.GOOS, runtime.GOARCH)
}
