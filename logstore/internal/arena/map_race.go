//go:build race

package arena

import "errors"

// The race detector does not know memory outside the Go heap.
func mapMemory(int) ([]byte, error) { return nil, errors.ErrUnsupported }
