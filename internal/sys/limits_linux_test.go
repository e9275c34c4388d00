package sys

import "testing"

func TestFileLimits(t *testing.T) {
	soft, hard, err := FileLimits()
	if err != nil || soft == 0 || soft > hard {
		t.Errorf("%d, %d, %v", soft, hard, err)
	}
	if used, most, err := SystemFiles(); err != nil || used == 0 || used > most {
		t.Errorf("%d of %d, %v", used, most, err)
	}
	// A collection may close a file between the two counts.
	var n uint64
	var want int
	for range 5 {
		n, err = OpenFiles()
		want = countFDs(t) - 1 // countFDs counts its own descriptor
		if err != nil || n == uint64(want) {
			break
		}
	}
	if err != nil || n != uint64(want) {
		t.Errorf("%d open files, %v; want %d", n, err, want)
	}
}
