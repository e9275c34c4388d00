package sys

import (
	"os"
	"testing"
)

// locked creates a file that this process has locked.
func locked(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if ok, err := TryLock(f); !ok {
		t.Skip("lock: ", err)
	}
	return f
}

// Of any number of descriptors only a bounded number is examined.
func TestFlockHolderBudget(t *testing.T) {
	want, err := theFile(locked(t))
	if err != nil {
		t.Fatal(err)
	}
	left := flockMost
	if !want.lockedBy(os.Getpid(), &left) || left >= flockMost {
		t.Errorf("the lock of this process is not found, %d descriptors left", left)
	}
	left = 1 // standard input's
	if want.lockedBy(os.Getpid(), &left) || left != 0 {
		t.Errorf("looked at more than one descriptor, %d left", left)
	}
	if want.lockedBy(os.Getpid(), &left) || left != 0 {
		t.Errorf("looked at a descriptor of %d left", left)
	}
}
