package sys

import (
	"os"
	"testing"
)

func TestStatFS(t *testing.T) {
	fi, err := StatFS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if fi.Total <= 0 || fi.Free < 0 || fi.Free > fi.Total {
		t.Errorf("%+v", fi)
	}
	if p, err := StatFS("/proc"); err != nil || FSName(p.Magic) != "" {
		t.Errorf("/proc: %+v %v", p, err)
	}
	if _, err := StatFS("/does/not/exist"); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}

func TestStatFile(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	byFile, err := StatFile(f)
	if err != nil {
		t.Fatal(err)
	}
	byPath, err := StatPath(f.Name())
	if err != nil || byFile != byPath {
		t.Errorf("by file %+v, by path %+v, %v", byFile, byPath, err)
	}
	if _, err := StatPath(f.Name() + "-"); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}
