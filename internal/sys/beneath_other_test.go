//go:build !linux

package sys

import "testing"

// There is only one way here.
func withoutOpenat2(*testing.T, func(*testing.T)) {}
