//go:build !linux

package peers

import "github.com/stele-go/stele/suites"

// mkdirWays is empty: filepath-securejoin's MkdirAll exists on Linux only.
func mkdirWays() []suites.MkdirWay { return nil }
