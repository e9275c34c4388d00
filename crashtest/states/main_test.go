package states_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/crashtest/states/mount"
)

func TestMain(m *testing.M) {
	mount.Serve()
	os.Exit(m.Run())
}

// errLost marks the loss that a check must find; any other error does not show
// that it looks for it.
var errLost = errors.New("acknowledged, and lost")

// recordMount skips the test where nothing can be mounted.
func recordMount[T any](t *testing.T, o states.MountOptions, work func(dir string, ack func(T)) error) *states.History[T] {
	t.Helper()
	h, err := states.RecordMount(o, work)
	if errors.Is(err, crashtest.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}
