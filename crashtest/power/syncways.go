package power

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/measure/fileop"
)

// A SyncWay is a way to write to a file, durable at once or not.
type SyncWay struct {
	Name string
	Doc  string // how it works, in one line
	// Level is what the written bytes and the size of the file survive once
	// WriteAt has returned. SyncTable shows what else is durable then.
	Level durability.Level

	open    int                  // flags of open(2)
	direct  bool                 // open it with O_DIRECT
	perCall int                  // flags of pwritev2(2)
	then    func(*os.File) error // after the write; nil is nothing
	linux   bool                 // needs Linux
	all     bool                 // promises all metadata, not only that needed to read the data
}

// SyncWays returns the ways that Linux has, the weakest first.
func SyncWays() []SyncWay {
	return []SyncWay{
		{Name: "write", Level: durability.Kill, Doc: "into the page cache, and nothing more"},
		{Name: "write + sync_file_range", Level: durability.Kill, linux: true, then: fileop.SyncFileRange,
			Doc: "the disk is sent the data, and no metadata; its cache is not flushed (sync_file_range(2), Warning)"},
		{Name: "write + fdatasync", linux: true, then: fileop.Fdatasync,
			Doc: "data and the metadata needed to read it; the disk's cache is flushed"},
		{Name: "RWF_DSYNC", linux: true, perCall: fileop.WriteDSync,
			Doc: "one pwritev2(2): data, the metadata needed to read it, and a flush of the disk's cache"},
		{Name: "O_DSYNC", linux: true, open: fileop.DataSync,
			Doc: "a descriptor that was opened so: each write does what RWF_DSYNC does"},
		{Name: "O_DIRECT + RWF_DSYNC", linux: true, direct: true, perCall: fileop.WriteDSync,
			Doc: "RWF_DSYNC past the page cache"},
		{Name: "write + fsync", then: (*os.File).Sync, all: true,
			Doc: "data and all metadata of the file; the disk's cache is flushed"},
		{Name: "O_SYNC", open: os.O_SYNC, all: true,
			Doc: "a descriptor that was opened so: each write does what an fsync after it does"},
	}
}

// Open opens a file for WriteAt, with os.O_WRONLY and flags. A new file gets the
// mode 0600.
func (w SyncWay) Open(name string, flags int) (*os.File, error) {
	if w.linux && runtime.GOOS != "linux" {
		return nil, fmt.Errorf("power: %s: %s on %s: %w", name, w.Name, runtime.GOOS, errors.ErrUnsupported)
	}
	flags |= w.open
	if w.direct {
		flags |= fileop.DirectFlag
	}
	return os.OpenFile(name, os.O_WRONLY|flags, 0o600)
}

// WriteAt writes p at off and returns when it is durable at w.Level. The length
// of p, its address and off must be multiples of 4,096, for O_DIRECT.
func (w SyncWay) WriteAt(f *os.File, p []byte, off int64) error {
	var err error
	if w.perCall != 0 {
		var n int
		if n, err = fileop.WriteFlags(f, p, off, w.perCall); err == nil && n < len(p) {
			err = fmt.Errorf("power: %s: %s wrote %d of %d bytes at %d", f.Name(), w.Name, n, len(p), off)
		}
	} else {
		_, err = f.WriteAt(p, off)
	}
	if err != nil || w.then == nil {
		return err
	}
	return w.then(f)
}

// A SyncKind is a kind of change to a file.
type SyncKind int

const (
	Overwritten SyncKind = iota // data over data that was durable
	Appended                    // data at the end, and the size that goes with it
	HoleFilled                  // data where the file had a hole
	NewName                     // a new file: its name, with the data
	ModTime                     // the time of the last change, after an overwrite
	ModeOwner                   // mode and owner, changed before an overwrite
	SyncKinds                   // number of kinds
)

var syncKindNames = [SyncKinds]string{"overwrite", "append", "hole filled", "new name", "mtime", "mode, owner"}

// String returns "overwrite" or "new name", for example.
func (k SyncKind) String() string {
	if k >= 0 && k < SyncKinds {
		return syncKindNames[k]
	}
	return fmt.Sprintf("power.SyncKind(%d)", int(k))
}

// promises reports whether the man pages promise that this kind of change is
// durable once WriteAt has returned: open(2), "Synchronized I/O", fsync(2),
// readv(2), sync_file_range(2).
func (w SyncWay) promises(k SyncKind) bool {
	switch k {
	case Overwritten, Appended, HoleFilled:
		return w.Level == durability.Power
	case ModTime, ModeOwner:
		return w.all
	}
	return false // a new name is a change of the directory: fsync(2)
}

// A SyncRow has what one way made durable on one file system.
type SyncRow struct {
	FS    string
	Way   string
	Cells [SyncKinds]SyncCell
}

// A SyncCell has the fate of one kind of change.
type SyncCell struct {
	Promised bool   // the man pages promise that it is durable
	Cuts     int    // power cuts after an acknowledged change
	Lost     int    // cuts of these that lost an acknowledged change
	First    error  // the first loss
	Seed     uint64 // seed of the cuts
}

// String returns "kept 16", "LOST 3/16" where that was promised, or "lost 3/16".
func (c SyncCell) String() string {
	switch {
	case c.Lost == 0:
		return fmt.Sprintf("kept %d", c.Cuts)
	case c.Promised:
		return fmt.Sprintf("LOST %d/%d", c.Lost, c.Cuts)
	}
	return fmt.Sprintf("lost %d/%d", c.Lost, c.Cuts)
}

// SyncTableMarkdown formats rows as a table in Markdown.
func SyncTableMarkdown(rows []SyncRow) string {
	var b strings.Builder
	b.WriteString("| file system | way |")
	for k := range SyncKinds {
		fmt.Fprintf(&b, " %v |", k)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", int(SyncKinds)) + "\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |", r.FS, r.Way)
		for _, c := range r.Cells {
			fmt.Fprintf(&b, " %v |", c)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
