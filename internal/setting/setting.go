// Package setting words a wrong setting in the one form that every package
// uses: the package, the field, the value with its unit, what is allowed.
//
//	wal: Options.SegmentSize: 7 bytes; want a multiple of 4096 from 65536 to 1073741824
//
// A constructor checks its settings in the order of their fields and returns
// the first error:
//
//	return cmp.Or(
//		setting.InRange("wal: Options.Queue", o.Queue, 1, 1<<20),
//		setting.AtLeast("wal: Options.MaxDelay", o.MaxDelay, 0),
//	)
package setting

import (
	"fmt"
	"io/fs"
)

// An Error reports a wrong setting. errors.Is(err, fs.ErrInvalid) holds.
type Error struct {
	Name string // "wal: Options.SegmentSize"
	Got  string // "7 bytes"
	Want string // "a multiple of 4096 from 65536 to 1073741824"
}

func (e *Error) Error() string { return e.Name + ": " + e.Got + "; want " + e.Want }

// Is reports whether target is fs.ErrInvalid.
func (e *Error) Is(target error) bool { return target == fs.ErrInvalid }

// Wrong returns an Error for the setting name, "package: Type.Field", whose
// value is got. A string is quoted, other values are formatted by %v. want and
// args are a format of what is allowed.
func Wrong(name string, got any, want string, args ...any) error {
	verb := "%v"
	if _, ok := got.(string); ok {
		verb = "%q"
	}
	return &Error{name, fmt.Sprintf(verb, got), fmt.Sprintf(want, args...)}
}

// Bytes is a number of bytes: "1 byte", "4096 bytes".
type Bytes int64

func (n Bytes) String() string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", int64(n))
}

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float64
}

// InRange returns an Error unless lo <= v <= hi.
func InRange[T number](name string, v, lo, hi T) error {
	if lo <= v && v <= hi {
		return nil
	}
	return Wrong(name, v, "%v to %v", lo, hi)
}

// AtLeast returns an Error unless v >= lo.
func AtLeast[T number](name string, v, lo T) error {
	if v >= lo {
		return nil
	}
	return Wrong(name, v, "%v or more", lo)
}
