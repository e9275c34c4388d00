//go:build !unix

package sys

import "io/fs"

// infoOf is what fi tells. There is no owner of the kind here.
func infoOf(fi fs.FileInfo) FileInfo { return FileInfo{Mode: fi.Mode()} }
