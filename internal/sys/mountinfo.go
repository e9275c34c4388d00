package sys

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A MountPoint is one line of /proc/self/mountinfo, described in proc(5).
type MountPoint struct {
	ID      uint64
	Dev     string // "major:minor", st_dev of the files on it
	Root    string // the part of the file system that is mounted: "/" except for bind mounts and subvolumes
	Path    string
	Options string // of the mount
	FS      string
	Source  string // "/dev/vda1", or a word where it has no device
	Super   string // options of the super block
}

// ParseMounts reads the format of /proc/self/mountinfo.
func ParseMounts(r io.Reader) ([]MountPoint, error) {
	var ms []MountPoint
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20) // overlay mounts name every layer in one line
	for sc.Scan() {
		if sc.Text() == "" {
			continue
		}
		m, err := parseMount(sc.Text())
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	return ms, sc.Err()
}

// parseMount reads "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw".
// Any number of optional fields may stand before the "-".
func parseMount(line string) (MountPoint, error) {
	bad := fmt.Errorf("mountinfo: cannot read line %q", line)
	left, right, ok := strings.Cut(line, " - ")
	if !ok {
		return MountPoint{}, bad
	}
	l, r := strings.Split(left, " "), strings.Split(right, " ")
	if len(l) < 6 || len(r) < 2 {
		return MountPoint{}, bad
	}
	id, err := strconv.ParseUint(l[0], 10, 64)
	if err != nil {
		return MountPoint{}, bad
	}
	m := MountPoint{
		ID: id, Dev: l[2], Root: unescape(l[3]), Path: unescape(l[4]), Options: l[5],
		FS: unescape(r[0]), Source: unescape(r[1]),
	}
	if len(r) > 2 {
		m.Super = unescape(strings.Join(r[2:], " "))
	}
	return m, nil
}

// unescape undoes the kernel's escaping: space, tab, newline and backslash are \040,
// \011, \012 and \134.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// FindMount returns the mount of path, which is absolute and free of symlinks; st is
// its Statx. The mount id decides if the kernel reports it. Otherwise it is the
// longest mount point above path, among those of its device if there are any: files
// of a btrfs subvolume have another st_dev than its mount. Of mounts on one point
// the last hides the others.
func FindMount(ms []MountPoint, path string, st Statx) (MountPoint, bool) {
	var best MountPoint
	found, sameDev := false, false
	for _, m := range ms {
		if st.MountID != 0 && m.ID == st.MountID {
			return m, true
		}
		if !above(m.Path, path) {
			continue
		}
		same := st.Dev != "" && m.Dev == st.Dev
		switch {
		case !found, same && !sameDev:
		case same == sameDev && len(m.Path) >= len(best.Path):
		default:
			continue
		}
		best, found, sameDev = m, true, same
	}
	return best, found
}

func above(mount, path string) bool {
	if mount == path || mount == "/" {
		return true
	}
	return strings.HasPrefix(path, mount) && path[len(mount)] == '/'
}
