//go:build !unix

package sys

import "io/fs"

// infoOf returns the FileInfo of fi, without an owner.
func infoOf(fi fs.FileInfo) FileInfo { return FileInfo{Mode: fi.Mode()} }
