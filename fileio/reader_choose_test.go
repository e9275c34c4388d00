package fileio

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/profile"
)

func TestChoose(t *testing.T) {
	if !canAdvise {
		t.Skip("one way only")
	}
	const mib, gib = 1 << 20, 1 << 30
	says := func(random, sequential string) *profile.Profile {
		return &profile.Profile{Read: profile.Read{Random: random, Sequential: sequential}}
	}
	for _, c := range []struct {
		size    int64
		pattern Pattern
		free    int64 // 0: not known
		profile *profile.Profile
		want    Way
	}{
		{gib, Unknown, 8 * gib, nil, Buffered},
		{gib, Random, 8 * gib, nil, Mapped},
		{4 * gib, Random, 8 * gib, nil, Mapped},
		{5 * gib, Random, 8 * gib, nil, Buffered},
		{gib, Random, 0, nil, Buffered},
		{mib, Random, 8 * gib, nil, Mapped},
		{mib - 1, Random, 8 * gib, nil, Buffered},
		{gib, Sequential, 8 * gib, nil, Buffered},
		{5 * gib, Sequential, 8 * gib, nil, Uncached},
		{5 * gib, Sequential, 0, nil, Buffered},
		{gib, Random, 8 * gib, says("direct", "mapped"), Direct},
		{gib, Random, 8 * gib, says("buffered", ""), Buffered},
		{gib, Sequential, 8 * gib, says("buffered", "direct"), Direct},
		{gib, Sequential, 8 * gib, says("", "mapped"), Mapped},
		{9 * gib, Sequential, 8 * gib, says("", "mapped"), Uncached}, // a mapping does not fit
		{gib, Unknown, 8 * gib, says("direct", "direct"), Buffered},
		{gib, Random, 8 * gib, says("auto", "sideways"), Mapped},
		{gib, Sequential, 8 * gib, says("auto", "sideways"), Buffered},
	} {
		got := choose(c.size, Options{Pattern: c.pattern, Profile: c.profile}, c.free, c.free > 0)
		if got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestFreeMemory(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
		known bool
	}{
		{"nothing", nil, 0, false},
		{"no control group", map[string]string{"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:   2048 kB\n"}, 2 * mib, true},
		{"no limit", map[string]string{
			"proc/meminfo": "MemAvailable: 2048 kB\n", "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 2 * mib, true},
		{"a limit, and pages that can be dropped", map[string]string{
			"proc/meminfo": "MemAvailable: 102400 kB\n", "proc/self/cgroup": "12:cpu:/x\n0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "10485760", "sys/fs/cgroup/a/b/memory.current": "8388608\n",
			"sys/fs/cgroup/a/b/memory.stat": "anon 5\ninactive_file 1048576\n",
		}, 3 * mib, true},
		{"the limit of the group above", map[string]string{
			"proc/meminfo": "MemAvailable: 102400 kB\n", "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max", "sys/fs/cgroup/a/memory.max": "5242880", "sys/fs/cgroup/a/memory.current": "6291456",
		}, 0, true},
		{"a container's own root", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5242880", "sys/fs/cgroup/memory.current": "1048576",
		}, 4 * mib, true},
		{"a limit above what there is", map[string]string{
			"proc/meminfo": "MemAvailable: 1024 kB\n", "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "104857600", "sys/fs/cgroup/a/memory.current": "0",
		}, mib, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, content := range c.files {
				name = filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if free, known := freeMemory(root); free != c.want || known != c.known {
				t.Errorf("%d, %v; want %d, %v", free, known, c.want, c.known)
			}
		})
	}
	if canAdvise {
		if free, known := freeMemory("/"); !known || free <= 0 {
			t.Errorf("here: %d, %v", free, known)
		}
	}
}
