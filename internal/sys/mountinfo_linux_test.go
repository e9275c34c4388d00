package sys

import "testing"

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
