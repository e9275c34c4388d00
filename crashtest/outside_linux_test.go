package crashtest_test

import (
	"errors"
	"testing"

	"github.com/stele-go/stele/crashtest"
)

// A power cut in a program that is no test.
func TestRecordOutside(t *testing.T) {
	var res crashtest.Result
	err := crashtest.Outside(t.Context(), func(t testing.TB) {
		rec := crashtest.Record(t, crashtest.Options{Seed: *seedFlag, Prepare: oldBlocks}, newBlocks(0, noSync))
		res = rec.Check(t, 6, checkBlocks)
	})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || len(res.Lost) == 0 {
		t.Errorf("%v; %v: want losses", err, res)
	}
}
