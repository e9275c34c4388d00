package lab

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// What a place cannot do is told apart from what failed.
func TestUnsupportedIsNoFailure(t *testing.T) {
	e := Experiment{
		Suite: "test", Name: "unsupported", Question: "Is it told apart?", Op: "nothing", Stateless: true,
		Variants: []Variant{
			Func("can", kill, func() error { return nil }),
			{Name: "cannot", Promise: kill, Run: func(*B) error { return fmt.Errorf("no such call: %w", errors.ErrUnsupported) }},
			{Name: "fails", Promise: kill, Run: func(*B) error { return errors.New("the disk is on fire") }},
		},
	}
	got, err := Measure(t.Context(), Options{
		Places: []PlaceSpec{{Dir: t.TempDir()}}, Rounds: 2, BlockTime: time.Millisecond, InProcess: true, NoCalibration: true,
	}, e)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"can": false, "cannot": true, "fails": false} {
		if v := got.Results[0].Variant(name); v.Unsupported != want || (v.Error != "") != (name != "can") {
			t.Errorf("%s: unsupported %v, error %q", name, v.Unsupported, v.Error)
		}
	}
}
