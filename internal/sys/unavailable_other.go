//go:build !linux

package sys

import (
	"fmt"
	"runtime"
)

// unavailable is the error of a figure that only some systems give.
func unavailable() error {
	return fmt.Errorf("not available on %s/%s", runtime.GOOS, runtime.GOARCH)
}
