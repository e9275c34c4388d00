//go:build !linux

package claims

import "errors"

// dupCoded needs dup3(2).
func dupCoded(int) (dealer, error) { return dealer{}, errors.ErrUnsupported }
