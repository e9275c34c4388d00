//go:build !windows

// Package wine tells tests whether the Windows that they run on is Wine, which
// differs in places. Tests of several packages skip these.
package wine

// Running reports whether this process runs under Wine.
func Running() bool { return false }
