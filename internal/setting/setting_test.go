package setting

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"testing"
	"time"
)

func TestWording(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{Wrong("wal: Options.SegmentSize", Bytes(7), "a multiple of %d from %d to %d", 4096, 65536, 1<<30), "wal: Options.SegmentSize: 7 bytes; want a multiple of 4096 from 65536 to 1073741824"},
		{Wrong("wal: Options.Sync", "a", `"b" or ""`), `wal: Options.Sync: "a"; want "b" or ""`},
		{InRange("p: O.N", 0, 1, 9), "p: O.N: 0; want 1 to 9"},
		{InRange("p: O.F", math.NaN(), 0, 1), "p: O.F: NaN; want 0 to 1"},
		{AtLeast("p: O.D", -time.Second, 0), "p: O.D: -1s; want 0s or more"},
		{cmp.Or(AtLeast("p: O.A", 0, 0), InRange("p: O.B", Bytes(1), 2, 3)), "p: O.B: 1 byte; want 2 bytes to 3 bytes"},
	} {
		if c.err == nil || c.err.Error() != c.want || !errors.Is(c.err, fs.ErrInvalid) {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
	err := Refused(errors.ErrUnsupported, "p: O.Root", nil, "a Root on %s", "linux")
	if err.Error() != "p: O.Root: nil; want a Root on linux" || !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		t.Errorf("refused: %v", err)
	}
	if err := cmp.Or(InRange("p: O.N", 1, 1, 1), AtLeast("p: O.N", 2, 2)); err != nil {
		t.Errorf("right settings: %v", err)
	}
}
