package throttle

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// hierarchy makes a directory that looks like the root group of cgroup v2.
func hierarchy(t *testing.T, controllers string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cgroup.controllers"), controllers+"\n")
	write(t, filepath.Join(dir, "cgroup.subtree_control"), "memory\n")
	write(t, filepath.Join(dir, "cgroup.procs"), "")
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUnifiedAt(t *testing.T) {
	if err := unifiedAt(hierarchy(t, "cpuset io memory")); err != nil {
		t.Error(err)
	}
	container := hierarchy(t, "io")
	write(t, filepath.Join(container, "cgroup.type"), "domain\n")
	for want, dir := range map[string]string{
		"has no controller io": hierarchy(t, "cpuset memory iox"),
		"a container's group":  container,
		"cgroup.controllers":   t.TempDir(),
	} {
		if err := unifiedAt(dir); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A group is made once, limits a device, has a process, and leaves nothing behind.
func TestGroup(t *testing.T) {
	root := hierarchy(t, "io")
	group, err := MakeGroup(root, "g")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := MakeGroup(root, "g"); again != group || err != nil {
		t.Errorf("a second time: %s, %v", again, err)
	}
	if got := read(t, filepath.Join(root, "cgroup.subtree_control")); got != "+io" {
		t.Errorf("the root group was written %q", got)
	}
	for _, c := range []struct {
		limit Limit
		want  string
	}{
		{Limit{IOPS: 3000, BytesPerSecond: 125 << 20}, "7:1 rbps=131072000 wbps=131072000 riops=3000 wiops=3000\n"},
		{Limit{IOPS: 5}, "7:1 rbps=max wbps=max riops=5 wiops=5\n"},
		{Limit{}, "7:1 rbps=max wbps=max riops=max wiops=max\n"},
	} {
		if err := setMax(group, "7:1", c.limit); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(group, "io.max")); got != c.want {
			t.Errorf("%+v: io.max was written %q, want %q", c.limit, got, c.want)
		}
		if limited, err := Limited(group); err != nil || limited != (c.limit != Limit{}) {
			t.Errorf("%+v: limited %v, %v", c.limit, limited, err)
		}
	}
	pid := strconv.Itoa(os.Getpid())
	if err := Join(group, os.Getpid()); err != nil || read(t, filepath.Join(group, "cgroup.procs")) != pid {
		t.Errorf("%v", err)
	}
	// rmdir of a real group succeeds with its files in it. Here it may not.
	before := filepath.Join(root, "before")
	if err := os.Mkdir(before, 0o700); err != nil {
		t.Fatal(err)
	}
	err = Dissolve(group, before)
	if got := read(t, filepath.Join(before, "cgroup.procs")); got != pid {
		t.Errorf("the process is moved to %q: %v", got, err)
	}
	if err := Dissolve(filepath.Join(root, "none"), before); err != nil {
		t.Errorf("a group that is gone: %v", err)
	}
}

func TestReadMax(t *testing.T) {
	path := filepath.Join(t.TempDir(), "io.max")
	write(t, path, "7:0 rbps=max wbps=5 riops=max wiops=max\n7:10 rbps=1 wbps=2 riops=3 wiops=4 other=9\n7:2 rbps=max wbps=max riops=max wiops=max\n")
	got, err := readMax(path)
	if err != nil || len(got) != 2 || got["7:0"] != [4]int64{0, 5, 0, 0} || got["7:10"] != [4]int64{1, 2, 3, 4} {
		t.Errorf("%v, %v", got, err)
	}
	write(t, path, "7:0 rbps=many\n")
	if got, err := readMax(path); err == nil {
		t.Errorf("a line that is none gave %v", got)
	}
}
