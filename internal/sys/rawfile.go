package sys

import (
	"io"
	"reflect"
	"syscall"
)

// RawFile returns the descriptor of an *os.File, also in the form that io.Copy gets
// from (*os.File).WriteTo: a type of package os that hides that method. It returns
// nil for types of other packages, which may do more than read the file.
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
