//go:build !linux

package peers

import "github.com/stele-go/stele/suites/dirs"

// mkdirWays is empty: filepath-securejoin's MkdirAll exists on Linux only.
func mkdirWays() []dirs.Way { return nil }
