package sys

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"
)

func TestMountsHere(t *testing.T) {
	ms, err := Mounts()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/proc": "proc", "/sys": "sysfs"} {
		st, err := StatPath(path)
		if err != nil {
			t.Fatal(err)
		}
		m, ok := FindMount(ms, path, st)
		if !ok || m.FS != want {
			t.Errorf("%s lies on %+v, want %s", path, m, want)
		}
		// Without the mount id the path must lead to the same mount.
		st.MountID = 0
		if n, _ := FindMount(ms, path, st); n != m {
			t.Errorf("%s: by id %+v, by path %+v", path, m, n)
		}
	}
}

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

func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := open(), open()
	defer b.Close()
	if ok, err := TryLock(a); !ok || err != nil {
		t.Fatalf("first: %v %v", ok, err)
	}
	if ok, err := TryLock(b); ok || err != nil {
		t.Fatalf("second, while the first holds it: %v %v", ok, err)
	}
	a.Close()
	if ok, err := TryLock(b); !ok || err != nil {
		t.Fatalf("second, after the first: %v %v", ok, err)
	}
}

func TestAlignedBuffer(t *testing.T) {
	for _, align := range []int{1, 8, 512, 4096, 65536} {
		b := AlignedBuffer(100, align)
		if len(b) != 100 || cap(b) != 100 || !aligned(b, align) {
			t.Errorf("align %d: len %d, cap %d", align, len(b), cap(b))
		}
	}
}

func aligned(b []byte, align int) bool {
	return uintptr(unsafe.Pointer(&b[0]))%uintptr(align) == 0
}
