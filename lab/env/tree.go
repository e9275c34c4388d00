package env

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab/run"
)

// A Tree lists the features of a directory that slow down work in it, or surprise.
type Tree struct {
	Entries int64 `json:"entries"`        // counted in the directory
	More    bool  `json:"more,omitempty"` // there are more, which were not counted
	// Bytes is the size of the directory itself. On ext4 it never shrinks.
	Bytes  int64        `json:"directory_bytes"`
	Mounts []InnerMount `json:"mounts,omitempty"` // below the directory
	// Warnings say what to do about it.
	Warnings []string `json:"warnings,omitempty"`
}

// An InnerMount is another file system mounted below a directory.
type InnerMount struct {
	Path string    `json:"path"`
	FS   string    `json:"fs"`
	Caps []run.Cap `json:"caps,omitempty"` // why less survives there
}

// Limits from which a directory is said to be crowded: far above what programs leave in a
// directory that they clean up, far below the millions of left-overs that slow one down.
// They are a choice; 'stele bench newfile --filter left-overs' measures the effect.
const (
	crowdedEntries = 100_000
	crowdedBytes   = 8 << 20
)

// warn sets the warnings.
func (t *Tree) warn(dir string) {
	many := fmt.Sprintf("%d entries", t.Entries)
	if t.More {
		many = "more than " + many
	}
	switch {
	case t.More || t.Entries >= crowdedEntries:
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s is crowded: %s. Looking up and creating names takes longer there; spread files over directories, and remove left-overs.", dir, many))
	case t.Bytes >= crowdedBytes:
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s was crowded: it has %s, and the directory itself is %s. ext4 does not shrink it; make a new one in its place.", dir, many, units.Size(t.Bytes)))
	}
	for _, m := range t.Mounts {
		text := fmt.Sprintf("%s is another file system (%s): a rename from one to the other fails, and a sync of one does not sync the other.", m.Path, m.FS)
		for _, c := range m.Caps {
			if why := refuses(c); why != "" {
				text += " There " + why + "."
				break
			}
		}
		t.Warnings = append(t.Warnings, text)
	}
}

// below reports whether path is below dir, and not dir.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// Bounds of counting a directory.
const (
	mostEntries = 1_000_000
	mostCount   = time.Second
)

// ProbeTree counts the entries of dir, to a million or for a second at most, and finds the
// mounts below it. It walks into no directory.
func ProbeTree(dir string) (*Tree, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("env: probe tree: %w", err)
	}
	defer f.Close()
	t := new(Tree)
	if fi, err := f.Stat(); err == nil {
		t.Bytes = fi.Size()
	}
	for begun := time.Now(); ; {
		names, err := f.Readdirnames(4096)
		t.Entries += int64(len(names))
		if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("env: probe tree: %w", err)
		}
		if t.Entries >= mostEntries || time.Since(begun) > mostCount {
			t.More = true
			break
		}
	}
	if t.Mounts, err = innerMounts(dir); err != nil {
		return nil, fmt.Errorf("env: probe tree: mounts below %s: %w", dir, err)
	}
	t.warn(dir)
	return t, nil
}

// innerMounts returns the mounts below dir, in the order of the kernel's table: a later
// one may hide an earlier one.
func innerMounts(dir string) ([]InnerMount, error) {
	mounts, err := sys.Mounts()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, err
	}
	s := system{root: "/"}
	var list []InnerMount
	for _, m := range mounts {
		if !below(real, m.Path) {
			continue
		}
		layers := s.layers(m, lower{mounts: mounts, stat: sys.StatPath})
		top := layers[0]
		e := run.Environment{FS: top.FS, Mount: top.Mount, Options: top.Options, Journal: top.Journal, Device: top.Device,
			WriteCache: top.WriteCache, Disks: top.Disks, Lower: layers[1:]}
		list = append(list, InnerMount{Path: m.Path, FS: m.FS, Caps: run.CapsOf(&e)})
	}
	return list, nil
}

// WriteText writes the tree as text.
func (t *Tree) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString("the directory itself\n")
	more := ""
	if t.More {
		more = "more than "
	}
	fmt.Fprintf(&b, "  %s%d entries, in a directory of %s\n", more, t.Entries, units.Size(t.Bytes))
	for _, m := range t.Mounts {
		fmt.Fprintf(&b, "  mounted below: %s (%s)\n", m.Path, m.FS)
	}
	for _, text := range t.Warnings {
		fmt.Fprintf(&b, "  ! %s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
