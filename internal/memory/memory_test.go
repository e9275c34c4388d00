package memory

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	mountV2     = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	mountV1     = "34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	infinite    = "9223372036854771712\n"
	available65 = "MemTotal: 70000000 kB\nMemAvailable: 68157440 kB\n" // 65 GiB
)

func TestAvailable(t *testing.T) {
	v1 := "sys/fs/cgroup/memory/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
		known bool
	}{
		{"nothing", nil, 0, false},
		{"no group", map[string]string{"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:   2048 kB\n"}, 2 * mib, true},
		{"v2: groups that are not mounted", map[string]string{
			"proc/meminfo": "MemAvailable: 2048 kB\n", "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1\n", "sys/fs/cgroup/a/memory.current": "1",
		}, 2 * mib, true},
		{"v2: no limit", map[string]string{
			"proc/meminfo": "MemAvailable: 2048 kB\n", "proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 2 * mib, true},
		{"v2: a limit, and pages that can be dropped", map[string]string{
			"proc/meminfo": "MemAvailable: 102400 kB\n", "proc/self/mountinfo": mountV2, "proc/self/cgroup": "12:cpu:/x\n0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "10485760", "sys/fs/cgroup/a/b/memory.current": "8388608\n",
			"sys/fs/cgroup/a/b/memory.stat": "anon 5\ninactive_file 1048576\n",
		}, 3 * mib, true},
		{"v2: throttled before the limit", map[string]string{
			"proc/meminfo": "MemAvailable: 102400 kB\n", "proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "max", "sys/fs/cgroup/a/memory.high": "3145728", "sys/fs/cgroup/a/memory.current": "1048576\n",
		}, 2 * mib, true},
		{"v2: the limit of the group above", map[string]string{
			"proc/meminfo": "MemAvailable: 102400 kB\n", "proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max", "sys/fs/cgroup/a/memory.max": "5242880", "sys/fs/cgroup/a/memory.current": "6291456",
		}, 0, true},
		{"v2: a container's own root", map[string]string{
			"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5242880", "sys/fs/cgroup/memory.current": "1048576",
		}, 4 * mib, true},
		{"v2: a group outside of the namespace", map[string]string{
			"proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/../other\n",
			"sys/fs/cgroup/memory.max": "5242880", "sys/fs/cgroup/memory.current": "1048576",
			"sys/fs/other/memory.max": "1048577", "sys/fs/other/memory.current": "1048576",
		}, 4 * mib, true},
		{"v2: a limit above what there is", map[string]string{
			"proc/meminfo": "MemAvailable: 1024 kB\n", "proc/self/mountinfo": mountV2, "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "104857600", "sys/fs/cgroup/a/memory.current": "0",
		}, mib, true},
		{"v1: 512 MiB on a machine with 65 GiB", map[string]string{
			"proc/meminfo": available65, "proc/self/mountinfo": mountV1, "proc/self/cgroup": "5:cpu:/x\n4:memory:/a\n0::/\n",
			v1 + "a/memory.limit_in_bytes": "536870912\n", v1 + "a/memory.usage_in_bytes": "104857600\n",
			v1 + "a/memory.stat": "inactive_file 1\nhierarchical_memory_limit 536870912\ntotal_inactive_file 4194304\n",
		}, 416 * mib, true},
		{"v1: before Linux had hierarchical totals", map[string]string{
			"proc/meminfo": available65, "proc/self/mountinfo": mountV1, "proc/self/cgroup": "4:memory:/a\n",
			v1 + "a/memory.limit_in_bytes": "536870912\n", v1 + "a/memory.usage_in_bytes": "104857600\n",
			v1 + "a/memory.stat": "inactive_file 4194304\n",
		}, 416 * mib, true},
		{"v1: no limit", map[string]string{
			"proc/meminfo": available65, "proc/self/mountinfo": mountV1, "proc/self/cgroup": "4:cpu,memory:/a\n",
			v1 + "a/memory.limit_in_bytes": infinite, v1 + "a/memory.usage_in_bytes": "104857600\n",
		}, 65 * gib, true},
		{"v1: no limit, and no MemAvailable", map[string]string{
			"proc/self/mountinfo": mountV1, "proc/self/cgroup": "4:memory:/a\n",
			v1 + "a/memory.limit_in_bytes": infinite, v1 + "a/memory.usage_in_bytes": "104857600\n",
		}, 0, false},
		{"v1: the limit of the group above", map[string]string{
			"proc/meminfo": available65, "proc/self/mountinfo": mountV1, "proc/self/cgroup": "4:memory:/a/b\n",
			v1 + "a/b/memory.limit_in_bytes": infinite, v1 + "a/b/memory.usage_in_bytes": "1", v1 + "a/memory.use_hierarchy": "1\n",
			v1 + "a/memory.limit_in_bytes": "10485760\n", v1 + "a/memory.usage_in_bytes": "2097152\n",
		}, 8 * mib, true},
		{"v1: a group above that does not count this one", map[string]string{
			"proc/meminfo": available65, "proc/self/mountinfo": mountV1, "proc/self/cgroup": "4:memory:/a/b\n",
			v1 + "a/b/memory.limit_in_bytes": infinite, v1 + "a/b/memory.usage_in_bytes": "1", v1 + "a/memory.use_hierarchy": "0\n",
			v1 + "a/memory.limit_in_bytes": "10485760\n", v1 + "a/memory.usage_in_bytes": "2097152\n",
		}, 65 * gib, true},
		{"v1: a container that sees its group as the mount", map[string]string{
			"proc/meminfo": available65, "proc/self/cgroup": "4:memory:/docker/abc\n",
			"proc/self/mountinfo":        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			v1 + "memory.limit_in_bytes": "10485760\n", v1 + "memory.usage_in_bytes": "2097152\n",
		}, 8 * mib, true},
		{"v1: a container whose group has the path of another namespace", map[string]string{
			"proc/meminfo": available65, "proc/self/cgroup": "4:memory:/kubepods/pod1/abc\n",
			"proc/self/mountinfo":        "35 31 0:32 /docker/xyz /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			v1 + "memory.limit_in_bytes": "10485760\n", v1 + "memory.usage_in_bytes": "2097152\n",
		}, 8 * mib, true},
		{"v1: a group below that of the container", map[string]string{
			"proc/meminfo": available65, "proc/self/cgroup": "4:memory:/docker/abc/mine\n",
			"proc/self/mountinfo":        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			v1 + "memory.limit_in_bytes": "10485760\n", v1 + "memory.usage_in_bytes": "2097152\n",
			v1 + "mine/memory.limit_in_bytes": "3145728\n", v1 + "mine/memory.usage_in_bytes": "2097152\n",
		}, mib, true},
		{"v1: a limit of a group above the container, which is not seen", map[string]string{
			"proc/meminfo": available65, "proc/self/cgroup": "4:memory:/pod/abc\n",
			"proc/self/mountinfo":        "35 31 0:32 /pod/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			v1 + "memory.limit_in_bytes": infinite, v1 + "memory.usage_in_bytes": "2097152\n",
			v1 + "memory.stat": "hierarchical_memory_limit 5242880\n",
		}, 3 * mib, true},
		{"v1 and v2: the tighter one", map[string]string{
			"proc/meminfo": available65, "proc/self/cgroup": "4:memory:/a\n0::/b\n",
			"proc/self/mountinfo":          mountV1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			v1 + "a/memory.limit_in_bytes": "10485760\n", v1 + "a/memory.usage_in_bytes": "0\n",
			"sys/fs/cgroup/unified/b/memory.max": "5242880\n", "sys/fs/cgroup/unified/b/memory.current": "1048576\n",
		}, 4 * mib, true},
		{"nonsense", map[string]string{
			"proc/meminfo": "MemAvailable: 2048 kB\n", "proc/self/mountinfo": mountV1 + mountV2, "proc/self/cgroup": "nonsense\n4:memory:\n0::\n\n",
			"sys/fs/cgroup/memory.max": "1e9", v1 + "memory.limit_in_bytes": "",
		}, 2 * mib, true},
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
			if got, known := available(root, hierarchies(root)); got != c.want || known != c.known {
				t.Errorf("%d, %v; want %d, %v", got, known, c.want, c.known)
			}
		})
	}
}

func TestAvailableHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	got, known := Available()
	if !known || got < 0 {
		t.Errorf("%d, %v", got, known)
	}
	if got == 0 {
		t.Log("the control group of this process is at its limit")
	}
}
