// Package memory tells how much memory this process can still use: the lesser of
// what the machine has available and what the process's control groups leave to it.
//
// Both versions of control groups count, also both at once, as in systemd's hybrid
// mode. A limit of a group holds for all groups below it. What a group leaves is its
// limit minus its usage, plus the page cache in that usage which the kernel evicts
// first, that is, pages of files that were not read again lately (inactive_file):
//
//	             version 2                     version 1
//	limit        memory.max, memory.high       memory.limit_in_bytes
//	usage        memory.current                memory.usage_in_bytes
//	page cache   inactive_file (memory.stat)   total_inactive_file (memory.stat)
//
// See Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
package memory

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stele-go/stele/internal/sys"
)

// Available returns how many bytes of memory this process can still use: the
// MemAvailable of the system, or what the tightest of its control groups leaves if
// that is less. It is 0 in a group that is at its limit. Page cache that the kernel
// can evict counts as available. known is false where the system does not report it.
func Available() (bytes int64, known bool) { return available("/", mounts()) }

// mounts returns the mounted hierarchies that limit memory. They are read once: the
// list of mounts is long on some machines, and these do not change.
var mounts = sync.OnceValue(func() []sys.MountPoint { return hierarchies("/") })

// hierarchies returns the mounts of control groups that can limit memory. root is
// "/", except in tests.
func hierarchies(root string) []sys.MountPoint {
	f, err := os.Open(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := sys.ParseMounts(f)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(m sys.MountPoint) bool {
		return m.FS != "cgroup2" && (m.FS != "cgroup" || !slices.Contains(strings.Split(m.Super, ","), "memory"))
	})
}

func available(root string, mounts []sys.MountPoint) (bytes int64, known bool) {
	bytes = math.MaxInt64
	if kib, ok := field(filepath.Join(root, "proc/meminfo"), "MemAvailable:"); ok {
		bytes, known = kib<<10, true
	}
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // no groups, no limits
	for line := range strings.Lines(string(text)) {
		// 0::/a/b is of version 2, 4:cpu,memory:/a/b of version 1.
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		fs, left := "cgroup2", leftV2
		if fields[0] != "0" {
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
			fs, left = "cgroup", leftV1
		}
		for _, m := range mounts {
			if m.FS != fs {
				continue
			}
			for dir := range upwards(m, fields[2]) {
				n, limited, last := left(filepath.Join(root, dir))
				if limited && n < bytes {
					bytes, known = n, true
				}
				if last {
					break
				}
			}
		}
	}
	if !known {
		return 0, false
	}
	return bytes, true
}

// upwards yields the directories of group and of the groups above it, as they are
// seen at the mount m. A container may see only a part of the hierarchy: groups
// above the mount are not seen, and a group that is not below the mount, because its
// path is that of another namespace, is seen as the mount itself.
func upwards(m sys.MountPoint, group string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		rel, err := filepath.Rel(m.Root, group)
		if err != nil || !filepath.IsLocal(rel) || strings.HasPrefix(group, "/..") {
			rel = "."
		}
		for ; rel != "."; rel = filepath.Dir(rel) {
			if !yield(filepath.Join(m.Path, rel)) {
				return
			}
		}
		yield(m.Path)
	}
}

// leftV2 returns what a group of version 2 may still use, if it is limited.
func leftV2(dir string) (left int64, limited, last bool) {
	limit := int64(math.MaxInt64)
	for _, name := range []string{"memory.max", "memory.high"} { // a number, or the word max
		if n, ok := number(filepath.Join(dir, name)); ok {
			limit = min(limit, n)
		}
	}
	if limit == math.MaxInt64 {
		return 0, false, false
	}
	used, ok := number(filepath.Join(dir, "memory.current"))
	if !ok {
		return 0, false, false
	}
	cached, _ := field(filepath.Join(dir, "memory.stat"), "inactive_file")
	return max(0, limit-used+cached), true, false
}

// unlimitedV1 is the least value that version 1 shows for a group without a limit. It
// shows the largest whole number of pages in an int64, for pages up to 1 MiB.
const unlimitedV1 = math.MaxInt64 &^ (1<<20 - 1)

// leftV1 is leftV2 for version 1. The limit of groups above the mount is in
// memory.stat. last is true if the groups above do not count this one, as before
// Linux 5.11 where memory.use_hierarchy is 0.
func leftV1(dir string) (left int64, limited, last bool) {
	above, ok := number(filepath.Join(filepath.Dir(dir), "memory.use_hierarchy"))
	last = ok && above == 0
	limit, ok := number(filepath.Join(dir, "memory.limit_in_bytes"))
	if !ok {
		return 0, false, last
	}
	stat := filepath.Join(dir, "memory.stat")
	if n, ok := field(stat, "hierarchical_memory_limit"); ok {
		limit = min(limit, n)
	}
	used, ok := number(filepath.Join(dir, "memory.usage_in_bytes"))
	if !ok || limit >= unlimitedV1 {
		return 0, false, last
	}
	cached, ok := field(stat, "total_inactive_file")
	if !ok {
		cached, _ = field(stat, "inactive_file")
	}
	return max(0, limit-used+cached), true, last
}

func number(name string) (int64, bool) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// field reads the number after a word that begins a line.
func field(name, word string) (int64, bool) {
	f, err := os.Open(name)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if fields := strings.Fields(sc.Text()); len(fields) >= 2 && fields[0] == word {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
