package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Difference is one field in which two environments differ.
type Difference struct {
	Field string `json:"field"` // its JSON name
	Old   string `json:"old"`
	New   string `json:"new"`
	// Matters is set where the difference keeps figures of the two from being
	// compared. Names and numbers of devices, and how full or busy the machine
	// was, do not matter.
	Matters bool `json:"matters"`
}

// Diff returns the fields in which o, the newer one, differs from e, those
// that matter first. A value that could not be read is "", and differs from one
// that could.
func (e Environment) Diff(o Environment) []Difference {
	var matter, rest []Difference
	for _, f := range compared {
		was, is := f.get(&e), f.get(&o)
		if was == is {
			continue
		}
		d := Difference{f.name, was, is, f.matters}
		if f.same != nil && f.same(&e, &o) {
			d.Matters = false
		}
		if d.Matters {
			matter = append(matter, d)
		} else {
			rest = append(rest, d)
		}
	}
	return append(matter, rest...)
}

type comparedField struct {
	name    string
	matters bool
	get     func(e *Environment) string
	same    func(a, b *Environment) bool // near enough not to matter; nil: only if equal
}

var compared = []comparedField{
	{"os", true, func(e *Environment) string { return e.OS }, nil},
	{"arch", true, func(e *Environment) string { return e.Arch }, nil},
	{"kernel", true, func(e *Environment) string { return e.Kernel }, nil},
	{"cpu", true, func(e *Environment) string { return e.CPU }, nil},
	{"cpus", true, func(e *Environment) string { return strconv.Itoa(e.CPUs) }, nil},
	{"memory_bytes", true, func(e *Environment) string { return strconv.FormatInt(e.Memory, 10) }, nearMemory},
	{"governor", true, func(e *Environment) string { return e.Governor }, nil},
	{"virtual", true, func(e *Environment) string { return e.Virtual }, nil},
	{"go", true, func(e *Environment) string { return e.Go }, nil},
	{"pinned_cpus", true, func(e *Environment) string { return e.Pinned }, nil},
	{"gomaxprocs", true, func(e *Environment) string { return strconv.Itoa(e.GOMAXPROCS) }, nil},
	{"go_settings", true, (*Environment).GoSettingsText, nil},
	{"fs", true, func(e *Environment) string { return e.FS }, nil},
	{"mount_options", true, sortedOptions, nil},
	{"journal", true, func(e *Environment) string { return e.Journal }, nil},
	{"model", true, func(e *Environment) string { return e.Model }, nil},
	{"rotational", true, func(e *Environment) string { return e.Rotational }, nil},
	{"scheduler", true, func(e *Environment) string { return e.Scheduler }, nil},
	{"write_cache", true, func(e *Environment) string { return e.WriteCache }, nil},
	{"backing_fs", true, func(e *Environment) string { return e.BackingFS }, nil},
	{"backing_io", true, func(e *Environment) string { return e.BackingIO }, nil},
	{"lower", true, func(e *Environment) string { return layersText(e.Lower) }, func(a, b *Environment) bool { return a.Lower == nil || b.Lower == nil }},
	// Where it was, and how it was there just then. Devices are numbered
	// anew at each boot and each mount of an image.
	{"hostname", false, func(e *Environment) string { return e.Hostname }, nil},
	{"dir", false, func(e *Environment) string { return e.Dir }, nil},
	{"mount", false, func(e *Environment) string { return e.Mount }, nil},
	{"device", false, func(e *Environment) string { return e.Device }, nil},
	{"device_id", false, func(e *Environment) string { return e.DeviceID }, nil},
	{"backing", false, func(e *Environment) string { return e.Backing }, nil},
	{"disks", false, func(e *Environment) string { return strings.Join(e.Disks, ",") }, nil},
	{"members", false, func(e *Environment) string { return strings.Join(e.Members, ",") }, nil},
	{"throttled", false, func(e *Environment) string { return strconv.FormatInt(e.Throttled, 10) }, nil},
	{"load1", false, func(e *Environment) string { return fmt.Sprintf("%.2f", e.Load) }, nil},
	{"cpu_busy", false, func(e *Environment) string { return fmt.Sprintf("%.2f", e.Busy) }, nil},
	{"cpu_iowait", false, func(e *Environment) string { return fmt.Sprintf("%.2f", e.IOWait) }, nil},
	{"cpu_steal", false, func(e *Environment) string { return fmt.Sprintf("%.2f", e.Steal) }, nil},
	{"free_bytes", false, func(e *Environment) string { return strconv.FormatInt(e.FreeBytes, 10) }, nil},
	{"total_bytes", false, func(e *Environment) string { return strconv.FormatInt(e.TotalBytes, 10) }, nil},
}

// layersText names the kinds of file systems beneath, with their options. Devices are
// numbered anew at each boot.
func layersText(layers []Layer) string {
	var out []string
	for _, l := range layers {
		options := MountOptions(l.Options)
		slices.Sort(options)
		out = append(out, l.FS+" "+strings.Join(options, ",")+" "+l.Journal)
	}
	return strings.Join(out, "; ")
}

// nearMemory: what a kernel keeps for itself differs between boots.
func nearMemory(a, b *Environment) bool {
	lo, hi := min(a.Memory, b.Memory), max(a.Memory, b.Memory)
	return lo > 0 && float64(hi-lo) <= 0.05*float64(hi)
}

// sortedOptions leaves out the size of a tmpfs and the directories of an overlay,
// which say where and how large but not how fast.
func sortedOptions(e *Environment) string {
	opts := slices.DeleteFunc(MountOptions(e.Options), func(o string) bool {
		for _, p := range []string{"size=", "nr_inodes=", "upperdir=", "workdir=", "lowerdir=", "lowerdir+=", "subvolid=", "subvol="} {
			if strings.HasPrefix(o, p) {
				return true
			}
		}
		return false
	})
	slices.Sort(opts)
	return strings.Join(opts, ",")
}

// MountOptions splits mount options, each once. A comma inside double quotes
// does not split.
func MountOptions(s string) []string {
	var out []string
	quoted, start := false, 0
	add := func(end int) {
		if o := s[start:end]; o != "" && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			add(i)
			start = i + 1
		}
	}
	add(len(s))
	return out
}
