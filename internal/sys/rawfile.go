package sys

import (
	"io"
	"reflect"
	"syscall"
)

// RawFile returns the descriptor of an *os.File, also in the form in which
// io.Copy gets it from (*os.File).WriteTo: a type of package os, too, that
// hides that method. Types of other packages may do more than read it: nil.
func RawFile(r io.Reader) syscall.RawConn {
	t := reflect.TypeOf(r)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.PkgPath() != "os" {
		return nil
	}
	c, ok := r.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
