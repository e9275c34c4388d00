//go:build !linux

package logstore

import "errors"

// isNoExchange reports whether two names cannot be exchanged.
func isNoExchange(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
