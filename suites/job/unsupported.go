package job

import (
	"errors"
	"fmt"
)

// Unsupported returns an errors.ErrUnsupported that says why a place cannot do the job
// that way.
func Unsupported(format string, args ...any) error {
	return unsupportedError(fmt.Sprintf(format, args...))
}

type unsupportedError string

func (e unsupportedError) Error() string { return string(e) }

func (e unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
