//go:build !unix

package procstat

import "github.com/stele-go/stele/internal/sys"

// SelfUsage is not offered here.
func SelfUsage() (Usage, error) { return Usage{}, sys.Unavailable() }
