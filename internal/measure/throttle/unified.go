package throttle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// unifiedAt returns nil if dir is the root group of a cgroup v2 hierarchy with the
// controller io. Otherwise the error says why and is errors.ErrUnsupported.
func unifiedAt(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	if !slices.Contains(strings.Fields(string(data)), "io") {
		return fmt.Errorf("%s has no controller io: it is in use by cgroup v1, or the kernel has none: %w", dir, errors.ErrUnsupported)
	}
	// The root group alone has no type. A container sees its own group as the root,
	// which may not give controllers to groups below it while it has processes.
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); err == nil {
		return fmt.Errorf("%s is a container's group, not the root group: %w", dir, errors.ErrUnsupported)
	}
	return nil
}

// MakeGroup makes a group below the root group of cgroup v2, with the controller io,
// and returns its directory. One that is there is kept.
func MakeGroup(root, name string) (group string, err error) {
	control := filepath.Join(root, "cgroup.subtree_control")
	had, err := os.ReadFile(control)
	if err != nil {
		return "", err
	}
	if !slices.Contains(strings.Fields(string(had)), "io") {
		if err := os.WriteFile(control, []byte("+io"), 0); err != nil {
			return "", err
		}
	}
	group = filepath.Join(root, name)
	if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return group, nil
}

// maxKeys are the limits of a line of io.max, in the order of maxValues.
var maxKeys = [...]string{"rbps", "wbps", "riops", "wiops"}

func maxValues(l Limit) [len(maxKeys)]int64 {
	return [...]int64{l.BytesPerSecond, l.BytesPerSecond, l.IOPS, l.IOPS}
}

// setMax limits the device of that number, "7:0" for example, in a group of cgroup v2.
func setMax(group, dev string, l Limit) error {
	path := filepath.Join(group, "io.max")
	line := dev
	for i, value := range maxValues(l) {
		text := "max"
		if value > 0 {
			text = strconv.FormatInt(value, 10)
		}
		line += " " + maxKeys[i] + "=" + text
	}
	if err := os.WriteFile(path, []byte(line+"\n"), 0); err != nil {
		return err
	}
	all, err := readMax(path)
	if err != nil {
		return err
	}
	if now := all[dev]; now != maxValues(l) {
		return fmt.Errorf("%s: the kernel set the limits of %s to %v, not %v: %w", path, dev, now, maxValues(l), errors.ErrUnsupported)
	}
	return nil
}

// readMax returns the limits of io.max by device, those without any left out. A limit
// of 0 stands for no limit.
func readMax(path string) (map[string][len(maxKeys)]int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string][len(maxKeys)]int64{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var values [len(maxKeys)]int64
		for _, f := range fields[1:] {
			key, text, _ := strings.Cut(f, "=")
			i := slices.Index(maxKeys[:], key)
			if i < 0 || text == "max" {
				continue
			}
			if values[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				return nil, fmt.Errorf("%s: cannot read %q", path, strings.TrimSpace(line))
			}
		}
		if values != ([len(maxKeys)]int64{}) {
			all[fields[0]] = values
		}
	}
	return all, nil
}

// Limited reports whether a group of cgroup v2 limits a device.
func Limited(group string) (bool, error) {
	all, err := readMax(filepath.Join(group, "io.max"))
	return len(all) > 0, err
}

// Join moves a process, and so its later children, into a group of cgroup v2.
func Join(group string, pid int) error {
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// Dissolve moves the processes of a group of cgroup v2 into the group to, or into the
// root group where they cannot be moved there, and removes the group.
func Dissolve(group, to string) error {
	data, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for text := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s: cannot read process %q", group, text)
		}
		if Join(to, pid) != nil {
			// Kernel threads belong in the root group. A process that has ended is in none.
			if err := Join(filepath.Dir(group), pid); err != nil && !ended(err) {
				return err
			}
		}
	}
	return os.Remove(group)
}
