package units

import (
	"errors"
	"io/fs"
	"testing"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "512M": 512 << 20, "2G": 2 << 30, "2GiB": 2 << 30, "3kb": 3 << 10, "1T": 1 << 40} {
		if got, err := Parse(in); got != want || err != nil {
			t.Errorf("Parse(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "G", "-1", "0", "2Q", "1.5G", "2GG", "99999999T", "2 G"} {
		if got, err := Parse(in); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Parse(%q) = %d, %v; want fs.ErrInvalid", in, got, err)
		}
	}
}
