//go:build !linux

package diskstat

import "github.com/stele-go/stele/internal/sys"

// A Disk is the block device that a file system lies on.
type Disk struct{ Name string }

// Under is not offered here.
func Under(dir string) (*Disk, error) { return nil, sys.Unavailable() }

// Stat is not offered here.
func (d *Disk) Stat() (Stat, error) { return Stat{}, sys.Unavailable() }

// Named is not offered here.
func Named(name string) (*Disk, error) { return nil, sys.Unavailable() }

// WriteCache is not known here.
func (d *Disk) WriteCache() string { return "" }
