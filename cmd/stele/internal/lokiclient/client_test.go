package lokiclient

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The status of an answer is known also when the connection is lost within its message: a
// push that is refused is not sent again, and one that may succeed later is.
func TestAnErrorOfWhichTheMessageIsCutOff(t *testing.T) {
	for status, temporary := range map[int]bool{http.StatusServiceUnavailable: true, http.StatusBadRequest: false} {
		body := io.MultiReader(strings.NewReader("what is "), iotest.ErrReader(syscall.ECONNRESET))
		c, err := New(Options{Addr: "http://127.0.0.1:1", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"X-Stele-Refused": {"3"}}, Body: io.NopCloser(body)}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Push(t.Context(), &Push{}, nil)
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != status || e.Message != "what is" || e.Refused != 3 || Temporary(err) != temporary {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// An answer that is cut off may come whole later.
func TestAnAnswerThatIsCutOffIsTemporary(t *testing.T) {
	lost := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for _, cut := range []error{lost, io.ErrUnexpectedEOF} {
		body := io.MultiReader(strings.NewReader(`{"known":`), iotest.ErrReader(cut))
		c, err := New(Options{Addr: "http://127.0.0.1:1", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Source(t.Context(), "app.log"); !errors.Is(err, cut) || !Temporary(err) {
			t.Errorf("%v is not temporary", err)
		}
	}
	if err := (&os.PathError{Op: "write", Path: "out", Err: syscall.EPIPE}); Temporary(err) {
		t.Errorf("%v is temporary", err)
	}
}
