package datafile

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// memoryAvailable is what can be had in bytes without swapping, 0 where that
// is not known. Page cache counts towards the limit of a control group.
func memoryAvailable() int64 {
	available := int64(0)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				available = kib << 10
			}
		}
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return available
	}
	for _, file := range memoryLimits(string(groups)) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil { // else it is "max"
			available = min(available, limit)
		}
	}
	return available
}

// memoryLimits are the files in which the limits of control groups stand, of
// those that /proc/self/cgroup names and of the ones above: of version 2 and
// of version 1.
func memoryLimits(groups string) (files []string) {
	for line := range strings.Lines(groups) { // 0::/a/b or 4:memory:/a/b
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		root, name := "/sys/fs/cgroup", "memory.max"
		if fields[0] != "0" {
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
			root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			files = append(files, path.Join(root, dir, name))
			if dir == "/" {
				break
			}
		}
	}
	return files
}
