package logs

import "testing"

// A needle is a part of a number, not all of it.
func TestPartOfNumber(t *testing.T) {
	for line, want := range map[string]string{"": "", "a 123456 b": "", "port 1234567": "23456", "7 98765432x": "87654"} {
		if got := partOfNumber([]byte(line)); got != want {
			t.Errorf("%q has %q, want %q", line, got, want)
		}
	}
}
