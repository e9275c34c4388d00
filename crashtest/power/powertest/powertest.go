// Package powertest cuts the power in tests: each function is that of package
// power, but skips the test where the rig cannot run, with the reason, and
// fails it on an error.
//
//	func TestMain(m *testing.M) {
//		power.ServeDisk()
//		os.Exit(m.Run())
//	}
//
//	func TestPowerCuts(t *testing.T) {
//		rec := powertest.Record(t, power.Options{FS: "xfs"}, func(dir string, ack func(string)) error {
//			... // write below dir; once a write is done and synced, ack it
//		})
//		res := powertest.Check(t, rec, 500, func(dir string, acked []string) error {
//			... // is all that was acked below dir?
//		})
//		if len(res.Lost) > 0 {
//			t.Error(res)
//		}
//	}
package powertest

import (
	"errors"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
)

// Record is [power.Record]. The recording is closed when the test ends.
func Record[T any](t testing.TB, o power.Options, work func(dir string, ack func(entry T)) error) *power.Recording[T] {
	t.Helper()
	rec, err := power.Record(o, work)
	available(t, err)
	t.Cleanup(func() {
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Log(rec)
	return rec
}

// Check is [power.Recording.Check].
func Check[T any](t testing.TB, rec *power.Recording[T], n int, check func(dir string, acked []T) error) power.Result {
	t.Helper()
	res, err := rec.Check(n, check)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Shutdown is [power.Shutdown].
func Shutdown[T any](t testing.TB, o power.Options, n int, work func(dir string, ack func(entry T)) error, check func(dir string, acked []T) error) power.Result {
	t.Helper()
	res, err := power.Shutdown(o, n, work, check)
	available(t, err)
	return res
}

// SyncTable is [power.SyncTable], until the test ends.
func SyncTable(t testing.TB, o power.Options, w power.SyncWay, n int) power.SyncRow {
	t.Helper()
	row, err := power.SyncTable(t.Context(), o, w, n)
	available(t, err)
	return row
}

// available skips the test if the rig cannot run, and fails it on any other
// error.
func available(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, crashtest.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
