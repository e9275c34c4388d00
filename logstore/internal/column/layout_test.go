package column

import (
	"fmt"
	"testing"
)

// The examples of the package comment.
func TestWorkedExamples(t *testing.T) {
	const at = 1_767_600_000_123_456_789
	for _, x := range []struct {
		values       []string
		packed, text string
	}{
		{[]string{"GET", "GET", "GET"}, "00 03", "GET"},
		{[]string{"a", "bc", ""}, "01 01 06", "a\nbc\n\n"},
		{[]string{"on", "off", "on", "on", "off", "on"}, "02 02 01 01 07 01 00 01 12", "on\noff\n"},
		{texts(10, func(i int) string { return fmt.Sprint(1000 + 2*i) }), "03 cc d0 0f 02 09 00 01", ""},
		{[]string{"00FF", "1A00"}, "25 04 cc fe 03 81 32 01 00 01", ""},
		{[]string{"0.50", "12.5", "3"}, "06 02 41 64 32 05 00 17 8c 00 02 00 01", ""},
		{[]string{"10.0.0.1:80", "10.0.0.7:8080"}, "0b 02 00 01 00 07 cc 82 80 80 a0 01 06 01 00 01 03 cc a0 01 c0 3e 01 00 01", ":"},
		{[]string{"2026-01-05 08:00:00.123", "2026-01-05 08:00:00.124", "2026-01-05 08:00:00.122"}, "0a 01 13 41 05 03 01 03", ""},
	} {
		var e Encoder
		var times []int64
		for i, v := range x.values {
			times = append(times, at+int64(i)*1e6)
			e.Add([]byte(v), times[i])
		}
		packed, text := e.Append(nil, nil)
		if got := fmt.Sprintf("% x", packed); got != x.packed || string(text) != x.text {
			t.Errorf("%q gives %s %q; want %s %q", x.values, got, text, x.packed, x.text)
		}
		var c Column
		if err := c.Open(packed, text, len(times), times); err != nil {
			t.Errorf("%q: %v", x.values, err)
		}
	}
}

// Numbers of layouts and kinds are part of the format.
func TestLayoutsStay(t *testing.T) {
	for number, want := range map[int]string{0: "Y-m-dTH:M:S", 7: "ymd HMS", 15: "a b e H:M:S Y", 23: "md H:M:S", 27: "U"} {
		if layouts[number] != want {
			t.Errorf("layout %d is %q; want %q", number, layouts[number], want)
		}
	}
}
