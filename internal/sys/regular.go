package sys

import "io/fs"

// A NotRegularError is that of a name at which there is no regular file, but
// something else. It is fs.ErrInvalid.
type NotRegularError struct{ Mode fs.FileMode }

func (e *NotRegularError) Error() string {
	return KindOf(e.Mode) + "; want a regular file: " + fs.ErrInvalid.Error()
}

func (e *NotRegularError) Unwrap() error { return fs.ErrInvalid }

// NotRegular is a *NotRegularError, or nil for a regular file.
func NotRegular(m fs.FileMode) error {
	if m.IsRegular() {
		return nil
	}
	return &NotRegularError{m.Type()}
}

// KindOf says what a file is that is not a regular one.
func KindOf(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeDir:
		return "a folder"
	case fs.ModeSymlink:
		return "a symlink"
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDevice:
		return "a block device"
	case fs.ModeDevice | fs.ModeCharDevice:
		return "a character device"
	}
	return "a file of another kind (" + m.Type().String() + ")"
}
