package crashtest_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
)

func TestOutside(t *testing.T) {
	var order []string
	var dir string
	err := crashtest.Outside(t.Context(), func(t testing.TB) {
		dir = t.TempDir()
		t.Cleanup(func() { order = append(order, "first") })
		t.Cleanup(func() { order = append(order, "second") })
	})
	if err != nil || strings.Join(order, " ") != "second first" {
		t.Errorf("%v; cleaned up %q", err, order)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}

	cleaned := false
	err = crashtest.Outside(t.Context(), func(t testing.TB) {
		t.Cleanup(func() { cleaned = true })
		t.Error(fs.ErrExist)
		t.Errorf("number %d", 2)
		t.Fatal(fs.ErrInvalid)
		t.Error("never reached")
	})
	if !errors.Is(err, fs.ErrExist) || !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "number 2") || strings.Contains(err.Error(), "never") || !cleaned {
		t.Errorf("%v; cleaned up: %v", err, cleaned)
	}

	ctx, stop := context.WithCancel(t.Context())
	stop()
	err = crashtest.Outside(ctx, func(t testing.TB) { crashtest.SyncTable(t, crashtest.Options{}, crashtest.SyncWays()[0], 1) })
	if !errors.Is(err, context.Canceled) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("cancelled: %v", err)
	}

	err = crashtest.Outside(t.Context(), func(t testing.TB) { t.Skip("no ", "disk") })
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("skipped: %v", err)
	}
	for _, f := range []func(testing.TB){
		func(testing.TB) { panic("at the disco") },
		func(t testing.TB) { t.Setenv("X", "y") }, // not offered
	} {
		if err := crashtest.Outside(t.Context(), f); err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("a panic is %v", err)
		}
	}
}
