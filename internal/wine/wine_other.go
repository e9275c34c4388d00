//go:build !windows

// Package wine tells tests whether the Windows that they run on is Wine, which
// differs in places.
package wine

// Running reports whether this process runs under Wine: elsewhere it does not.
func Running() bool { return false }
