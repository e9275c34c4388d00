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
	"strconv"
)

// An Error reports a wrong setting.
type Error struct {
	Name string // "wal: Options.SegmentSize"
	Got  string // "7 bytes"
	Want string // "a multiple of 4096 from 65536 to 1073741824"
	Kind error  // what errors.Is finds: fs.ErrInvalid, or what Refused was given
}

func (e *Error) Error() string { return e.Name + ": " + e.Got + "; want " + e.Want }

// Is reports whether target is e.Kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Wrong returns an Error for the setting name, "package: Type.Field", whose
// value is got. A string is quoted, nil is "nil", other values are formatted by
// %v. want and args are a format of what is allowed. errors.Is finds
// fs.ErrInvalid in the Error.
func Wrong(name string, got any, want string, args ...any) error {
	return Refused(fs.ErrInvalid, name, got, want, args...)
}

// Refused is Wrong for a value that is right elsewhere but not on this system
// or for this call: errors.Is finds kind in the Error, for example
// errors.ErrUnsupported, and not fs.ErrInvalid.
func Refused(kind error, name string, got any, want string, args ...any) error {
	text := "nil"
	switch got := got.(type) {
	case nil:
	case string:
		text = strconv.Quote(got)
	default:
		text = fmt.Sprint(got)
	}
	return &Error{name, text, fmt.Sprintf(want, args...), kind}
}

// Text is a value in words, which Wrong does not quote: "true without Root".
type Text string

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
