package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

// Outside calls f with a testing.TB that is no test's, for programs that want
// to cut the power: what would fail a test is the error that Outside returns,
// and what would skip it is an error that is errors.ErrUnsupported. Messages
// of t.Log are dropped.
//
// Of a TB there is what this package uses: Error, Fatal, Log, Skip and their
// kin, Helper, Cleanup, TempDir, Context, Failed, Skipped. All else panics,
// which is an error too. [SyncTable] stops when ctx is done. A program that uses [Record] so must call [ServeDisk] first in
// its main.
func Outside(ctx context.Context, f func(t testing.TB)) error {
	t := &outside{ctx: ctx}
	done := make(chan struct{})
	// FailNow and SkipNow end the goroutine, as in a test.
	go func() {
		defer close(done)
		defer t.cleanUp()
		defer t.recovered()
		f(t)
	}()
	<-done
	return errors.Join(t.errs...)
}

type outside struct {
	testing.TB // nil: it has a method that only package testing can have
	ctx        context.Context
	errs       []error
	failed     bool
	skipped    bool
	cleanups   []func()
}

func (t *outside) recovered() {
	if p := recover(); p != nil {
		t.fail(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

func (t *outside) cleanUp() {
	for _, f := range slices.Backward(t.cleanups) {
		func() {
			defer t.recovered()
			f()
		}()
	}
}

func (t *outside) fail(err error) {
	t.failed = true
	t.errs = append(t.errs, err)
}

func (t *outside) skip(why string) {
	t.skipped = true
	t.errs = append(t.errs, fmt.Errorf("%s: %w", why, errors.ErrUnsupported))
	runtime.Goexit()
}

func (t *outside) Context() context.Context          { return t.ctx }
func (t *outside) Helper()                           {}
func (t *outside) Log(...any)                        {}
func (t *outside) Logf(string, ...any)               {}
func (t *outside) Failed() bool                      { return t.failed }
func (t *outside) Skipped() bool                     { return t.skipped }
func (t *outside) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *outside) Error(args ...any)                 { t.fail(asError(args)) }
func (t *outside) Errorf(format string, args ...any) { t.fail(formatted(format, args)) }
func (t *outside) Fail()                             { t.fail(errors.New("failed")) }
func (t *outside) FailNow()                          { t.Fail(); runtime.Goexit() }
func (t *outside) Fatal(args ...any)                 { t.fail(asError(args)); runtime.Goexit() }
func (t *outside) Fatalf(format string, args ...any) {
	t.fail(formatted(format, args))
	runtime.Goexit()
}
func (t *outside) Skip(args ...any)                 { t.skip(fmt.Sprint(args...)) }
func (t *outside) Skipf(format string, args ...any) { t.skip(fmt.Sprintf(format, args...)) }
func (t *outside) SkipNow()                         { t.skip("skipped") }

// TempDir makes a folder that is removed at the end.
func (t *outside) TempDir() string {
	dir, err := os.MkdirTemp("", "stele-crashtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// asError keeps an error what it is, for errors.Is.
func asError(args []any) error {
	if len(args) == 1 {
		if err, ok := args[0].(error); ok {
			return err
		}
	}
	return errors.New(fmt.Sprint(args...))
}

func formatted(format string, args []any) error { return fmt.Errorf(format, args...) }
