// Package mkdir makes directory trees with the fewest system calls.
package mkdir

import (
	"context"
	"errors"
	"io/fs"
	"iter"

	"github.com/stele-go/stele/durability"
)

func All(path string, perm fs.FileMode) error { return errors.ErrUnsupported }

type Options struct {
	Level     durability.Level
	Confined  bool
	Workers   int
	CacheSize int
}

type Maker struct{}

func OpenRoot(dir string, o Options) (*Maker, error)    { return nil, errors.ErrUnsupported }
func (m *Maker) All(rel string, perm fs.FileMode) error { return errors.ErrUnsupported }
func (m *Maker) Close() error                           { return errors.ErrUnsupported }
func (m *Maker) Batch(ctx context.Context, rels iter.Seq[string], perm fs.FileMode) (*Created, error) {
	return nil, errors.ErrUnsupported
}

type Created struct{}

func (c *Created) Undo() error { return errors.ErrUnsupported }
