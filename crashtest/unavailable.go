package crashtest

import "errors"

// ErrUnavailable is the error where a kit cannot run on this machine: it needs
// Linux, root, /dev/fuse or the mkfs of a file system. A test should be skipped
// then. It is errors.ErrUnsupported too, but not every such error is this one: code
// under test may meet ENOTSUP.
var ErrUnavailable error = unavailable{}

type unavailable struct{}

func (unavailable) Error() string        { return "not available on this machine" }
func (unavailable) Is(target error) bool { return target == errors.ErrUnsupported }
