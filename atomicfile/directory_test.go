package atomicfile

import (
	"testing"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		path, dir, name string
		ok              bool
	}{
		{"f", "", "f", true}, {"d/f", "d/", "f", true}, {"/f", "/", "f", true}, {"l/../f", "l/../", "f", true},
		{"", "", "", false}, {"d/", "", "", false}, {".", "", "", false}, {"d/..", "", "", false}, {"/", "", "", false},
	} {
		dir, name, err := split(c.path)
		if dir != c.dir || name != c.name || (err == nil) != c.ok {
			t.Errorf("%q: %q, %q, %v", c.path, dir, name, err)
		}
	}
}
