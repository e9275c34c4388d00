package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"syscall"

	"github.com/stele-go/stele/logstore"
)

// A statusError is an error with the status of its answer. Its text is the body: as with
// Loki plain text, for people.
type statusError struct {
	status  int
	text    string
	retry   int // seconds of Retry-After; 0 is none
	refused int // entries of a push of which the others were kept
	cause   error
}

func (e *statusError) Error() string { return e.text }

func (e *statusError) Unwrap() error { return e.cause }

// refuse returns an error that is answered with status.
func refuse(status int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &statusError{status: status, text: err.Error(), cause: errors.Unwrap(err)}
}

// retryLater returns an error that is answered with status and Retry-After.
func retryLater(status, seconds int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &statusError{status: status, text: err.Error(), retry: seconds, cause: errors.Unwrap(err)}
}

// clientGone is the status of a call whose client has left: nobody reads it but the log.
const clientGone = 499

var (
	errStopping = &statusError{status: http.StatusServiceUnavailable, text: "the server is shutting down", retry: 5}
	errNoTenant = &statusError{status: http.StatusUnauthorized, text: "no org id"} // as Loki words it
)

// asStatus returns the error with its status: that of a statusError, or of what the store
// and the engine return.
func asStatus(err error) *statusError {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e
	}
	e := &statusError{status: http.StatusInternalServerError, text: err.Error(), cause: err}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, limit := errors.AsType[*logstore.LimitError](err)
	refused, wrong := refusedQuery(err)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded): // of a read: one of a write finds nobody to tell
		e.status, e.text = http.StatusRequestTimeout, "the body came too slowly"
	case tooLarge:
		e.status = http.StatusRequestEntityTooLarge
	case limit:
		e.status = http.StatusBadRequest
	case wrong:
		e.status, e.text = http.StatusBadRequest, refused
	case errors.Is(err, context.Canceled):
		e.status = clientGone
	case errors.Is(err, context.DeadlineExceeded):
		e.status = http.StatusGatewayTimeout
	case errors.Is(err, logstore.ErrBusy):
		e.status, e.retry = http.StatusTooManyRequests, 1
	case errors.Is(err, logstore.ErrTooManySources), errors.Is(err, logstore.ErrDeletions):
		e.status, e.retry = http.StatusTooManyRequests, 60
	case errors.Is(err, logstore.ErrReplaying), errors.Is(err, logstore.ErrClosed):
		e.status, e.retry = http.StatusServiceUnavailable, 5
	case errors.Is(err, logstore.ErrLowSpace), errors.Is(err, syscall.ENOSPC):
		e.status, e.retry = http.StatusInsufficientStorage, 30
	case errors.Is(err, logstore.ErrFailed):
		e.status, e.retry = http.StatusServiceUnavailable, 30
	case errors.Is(err, fs.ErrInvalid): // the store refuses what was asked of it
		e.status = http.StatusBadRequest
	}
	return e
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := asStatus(err)
	if e.status >= 500 && e != errStopping {
		s.failures.log("request failed", e.status, "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if e.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retry))
	}
	if e.refused > 0 {
		w.Header().Set(refusedHeader, strconv.Itoa(e.refused))
	}
	http.Error(w, e.text, e.status)
}
