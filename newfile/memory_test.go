package newfile_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/stele-go/stele/newfile"
)

func TestMemory(t *testing.T) {
	m, err := newfile.Memory("figures")
	must(t, err)
	_, err = m.WriteString("abc")
	must(t, err)
	err = m.Seal()
	if runtime.GOOS != "linux" {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Seal: %v", err)
		}
		must(t, m.Close())
		return
	}
	must(t, err)
	if _, err := m.WriteString("d"); !errors.Is(err, os.ErrPermission) {
		t.Errorf("writing to a sealed file: %v", err)
	}
	if err := m.Truncate(1); !errors.Is(err, os.ErrPermission) {
		t.Errorf("truncating a sealed file: %v", err)
	}
	if err := m.Seal(); !errors.Is(err, os.ErrPermission) {
		t.Errorf("sealing again: %v", err)
	}
	b := make([]byte, 3)
	if _, err := m.ReadAt(b, 0); err != nil || string(b) != "abc" {
		t.Errorf("read %q, %v", b, err)
	}
	must(t, m.Close())
	if err := m.Seal(); err == nil {
		t.Error("sealing a closed file gave no error")
	}
}
