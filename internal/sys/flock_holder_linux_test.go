package sys

import (
	"os"
	"testing"
)

// However many descriptors there are, a bounded number of them is looked at.
func TestFlockHolderBudget(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ok, err := TryLock(f); !ok {
		t.Skip("lock: ", err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	left := flockMost
	if !holds(os.Getpid(), fi, "file", &left) || left >= flockMost {
		t.Errorf("the lock of this process is not found, %d descriptors left", left)
	}
	left = 1 // standard input's
	if holds(os.Getpid(), fi, "file", &left) || left != 0 {
		t.Errorf("looked at more than one descriptor, %d left", left)
	}
	if holds(os.Getpid(), fi, "file", &left) || left != 0 {
		t.Errorf("looked at a descriptor of %d left", left)
	}
}
