//go:build !linux

package mount

// Serve does nothing: mounts need Linux.
func Serve() {}
