//go:build !linux

package atomicfile_test

import "io/fs"

// umask is taken to be the usual one.
const umask fs.FileMode = 0o022
