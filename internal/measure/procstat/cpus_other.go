//go:build !linux

package procstat

import "github.com/stele-go/stele/internal/sys"

// AllowedCPUs is not offered here.
func AllowedCPUs() (string, error) { return "", sys.Unavailable() }
