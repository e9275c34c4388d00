package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"testing"

	"github.com/stele-go/stele/logstore"
)

func TestStatusOfErrors(t *testing.T) {
	for err, want := range map[error]int{
		fmt.Errorf("an offset: %w", fs.ErrInvalid):           http.StatusBadRequest,
		fmt.Errorf("a push: %w", logstore.ErrTooManySources): http.StatusTooManyRequests,
		fmt.Errorf("a push: %w", logstore.ErrDeletions):      http.StatusTooManyRequests,
		fmt.Errorf("a push: %w", logstore.ErrBusy):           http.StatusTooManyRequests,
		fmt.Errorf("a push: %w", logstore.ErrLowSpace):       http.StatusInsufficientStorage,
		fmt.Errorf("a push: %w", logstore.ErrFailed):         http.StatusServiceUnavailable,
		errors.New("the disk burns"):                         http.StatusInternalServerError,
	} {
		e := asStatus(err)
		if e.status != want {
			t.Errorf("%v: %d, want %d", err, e.status, want)
		}
		if wait := want == http.StatusTooManyRequests; wait != (e.status == want && e.retry > 0) && want < 500 {
			t.Errorf("%v: Retry-After %d", err, e.retry)
		}
	}
}

// The sources of imports are the store's: asking to forget one is the client's mistake.
func TestSourceOfImport(t *testing.T) {
	s := newServer(t, Options{})
	if w := get(s, "DELETE", "/stele/api/v1/source?name=import:x"); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
