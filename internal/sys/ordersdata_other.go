//go:build !linux

package sys

import "os"

// OrdersData returns false.
func OrdersData(*os.File) bool { return false }

// OrdersData returns false.
func (d Dir) OrdersData() bool { return false }
