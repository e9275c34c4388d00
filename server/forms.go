package server

import (
	"context"
	"net/http"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/server/internal/params"
)

// forms bounds the memory of the forms that requests bring: they are read before a query
// waits for its turn, and kept until it is answered.
type forms struct {
	room *semaphore.Weighted // bytes
	wait time.Duration
}

const (
	maxForms  = 16 << 20
	smallForm = 4 << 10 // bytes of a form that is not counted: as large as other parameters
)

func newForms(l QueryLimits) *forms { return &forms{semaphore.New(maxForms), l.Wait} }

// enter waits until there is memory for the form of a request; leave must follow with the bytes
// that enter returns, also after an error. That is answered with 429.
func (f *forms) enter(ctx context.Context, r *http.Request) (n int64, err error) {
	n = r.ContentLength
	switch {
	case r.Body == nil || n >= 0 && n <= smallForm:
		return 0, nil
	case n < 0 || n > params.MaxBytes:
		n = params.MaxBytes
	}
	tooLong := retryLater(http.StatusTooManyRequests, 5, "the parameters of other requests have all memory")
	ctx, end := context.WithTimeoutCause(ctx, f.wait, tooLong)
	defer end()
	begun := time.Now()
	waited, err := f.room.Acquire(ctx, n)
	if err != nil {
		return 0, err
	}
	if waited {
		pauseBody(r.Body, time.Since(begun))
	}
	return n, nil
}

func (f *forms) leave(n int64) { f.room.Release(n) }
