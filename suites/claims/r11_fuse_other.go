//go:build !linux

package claims

import (
	"errors"
	"fmt"
	"os"
)

// loseUnflushed is not offered here.
func (c *fuseClient) loseUnflushed(dir string, flags, blocks int, sync func(*os.File) error) (int, error) {
	return 0, fmt.Errorf("a FUSE client: %w", errors.ErrUnsupported)
}
