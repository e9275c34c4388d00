package sys

import "io/fs"

// A NotRegularError reports a name that is not that of a regular file. errors.Is
// finds fs.ErrInvalid.
type NotRegularError struct{ Mode fs.FileMode }

func (e *NotRegularError) Error() string {
	return KindOf(e.Mode) + "; want a regular file: " + fs.ErrInvalid.Error()
}

func (e *NotRegularError) Unwrap() error { return fs.ErrInvalid }

// NotRegular returns a *NotRegularError, or nil for a regular file.
func NotRegular(m fs.FileMode) error {
	if m.IsRegular() {
		return nil
	}
	return &NotRegularError{m.Type()}
}

// KindOf returns what a file that is not regular is, in words: "a directory".
func KindOf(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeDir:
		return "a directory"
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
