//go:build !linux

package claims

import (
	"errors"
	"io"
)

// mapPool is not available here.
func mapPool(string, int) ([]byte, func() error, error) { return nil, nil, errors.ErrUnsupported }

// duplicatesOfStdin is not available here.
func duplicatesOfStdin() tempPlace {
	return tempPlace{
		create: func() (io.WriteCloser, error) { return nil, errors.ErrUnsupported },
		clean:  func() error { return nil },
	}
}
