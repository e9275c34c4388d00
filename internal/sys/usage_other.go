//go:build !unix

package sys

// SelfUsage is not offered here.
func SelfUsage() (Usage, error) { return Usage{}, unavailable() }
