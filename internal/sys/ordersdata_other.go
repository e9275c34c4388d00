//go:build !linux

package sys

import "os"

// OrdersData is denied here.
func OrdersData(*os.File) bool { return false }

// OrdersData is denied here: nothing is known of the file system's journal.
func (d Dir) OrdersData() bool { return false }
