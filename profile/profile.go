// Package profile stores the settings that suit a disk. The command stele tune
// measures and writes a profile; packages wal and fileio read it.
//
// A profile never changes what a call promises. It selects among mechanisms that
// promise the same, and sizes.
//
// # Mistakes to avoid
//
//   - Using a profile on another machine, disk or file system: it has what was
//     fast on the one that Dir, FileSystem and Device name.
//   - Keeping one for good. After a new kernel, on a fuller disk or with another
//     mount option run stele tune again; Made is the age of the profile.
//   - Measuring while the disk has other work, unless it always has.
//   - Taking an empty field for a measured zero: it was not measured, or nothing
//     was better than the default.
//   - Expecting newfile to read it: set newfile.Options.Shards to Create.Shards
//     by hand, as the number of shards belongs to a directory with files.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
)

// Schema names the layout of the file. Its number grows when a program that knows
// the old layout would misread the new one. Added fields do not change it.
const Schema = "stele.profile/1"

// FileName is the name of the file that stele tune writes to the directory it
// measured.
const FileName = "stele-profile.json"

// A Profile has the settings that suit one disk. A field with its zero value was
// not measured, or nothing was better than the default, and selects the default.
type Profile struct {
	Schema string    `json:"schema"`
	Made   time.Time `json:"made"`
	// The directory that was measured, its file system and its device.
	Dir        string `json:"dir"`
	FileSystem string `json:"file_system"`
	Device     string `json:"device"`

	Read   Read   `json:"read"`
	Write  Write  `json:"write"`
	WAL    WAL    `json:"wal"`
	Create Create `json:"create"`
	Header Header `json:"header"`

	// Figures are the measurements behind the settings.
	Figures []Figure `json:"figures,omitempty"`
}

// Read has settings of readers of package fileio, except Parallel, which is for
// programs that start goroutines.
type Read struct {
	Random     string `json:"random,omitempty"`      // for random reads: "buffered", "mapped", "direct", "uncached"
	Sequential string `json:"sequential,omitempty"`  // for long sequential reads: the same words
	BufferSize int    `json:"buffer_size,omitempty"` // bytes
	Readahead  int    `json:"readahead,omitempty"`   // bytes ahead of a sequential reader
	Parallel   int    `json:"parallel,omitempty"`    // concurrent reads, above which throughput does not grow
}

// Write has settings of writers of package fileio.
type Write struct {
	Way        string `json:"way,omitempty"`         // "buffered", "direct", "uncached"
	BufferSize int    `json:"buffer_size,omitempty"` // bytes
	Sync       string `json:"sync,omitempty"`        // mechanism: "fdatasync", "fsync", "dsync" (RWF_DSYNC), "o_dsync"
}

// WAL has settings of package wal.
type WAL struct {
	Sync        string        `json:"sync,omitempty"`         // "fdatasync", "dsync", "direct"
	MaxDelay    time.Duration `json:"max_delay_ns,omitempty"` // the group-commit window
	SegmentSize int64         `json:"segment_size,omitempty"` // bytes; set by hand, stele tune does not measure it
}

// Create has settings for users of package newfile, which reads no profile.
type Create struct {
	Shards     int `json:"shards,omitempty"`     // for newfile.Options
	Goroutines int `json:"goroutines,omitempty"` // concurrent creations, above which throughput does not grow
}

// Header has settings for users of package header, which reads no profile:
// Strategy is for header.Options of atomic changes at level Power.
type Header struct {
	Strategy string `json:"strategy,omitempty"` // "clone", "kernel-copy", "copy"
}

// A Figure is one measurement behind a setting.
type Figure struct {
	For   string  `json:"for"`            // the setting: "wal.sync"
	Load  string  `json:"load,omitempty"` // the operation: "1 appender, records of 1 KiB"
	Name  string  `json:"name"`           // the measured value of the setting: "fdatasync"
	Value float64 `json:"value"`          // the median
	Lo    float64 `json:"lo,omitempty"`   // of its 95% interval; Lo and Hi are 0 without one
	Hi    float64 `json:"hi,omitempty"`
	Unit  string  `json:"unit"` // "ns", of one operation
	// Ratio is the ratio of its time to the default's. RatioLo and RatioHi are
	// its 95% interval, 0 without one. Verdict is the lab's: "faster", "slower",
	// "same" or "cannot tell". They are not set in the figure of the default.
	Ratio   float64 `json:"ratio,omitempty"`
	RatioLo float64 `json:"ratio_lo,omitempty"`
	RatioHi float64 `json:"ratio_hi,omitempty"`
	Verdict string  `json:"verdict,omitempty"`
	Taken   bool    `json:"taken,omitempty"` // the profile has this value
}

// Load reads the profile name. If name is a directory, Load reads the file
// FileName in it. It fails for a missing file (fs.ErrNotExist), for one that is
// not a profile, and for a layout that this version does not know.
func Load(name string) (*Profile, error) {
	data, err := read(name)
	if errors.Is(err, errDirectory) {
		name = filepath.Join(name, FileName)
		data, err = read(name)
	}
	if err != nil {
		return nil, err
	}
	p, err := parse(data)
	if err != nil {
		return nil, &fs.PathError{Op: "read profile", Path: name, Err: err}
	}
	return p, nil
}

const maxSize = 1 << 20 // bytes; a profile has some thousand

// errDirectory is in the chain of the error of read for a directory.
var errDirectory = errors.New("a directory; want a regular file")

// read returns the content of a regular file of at most maxSize bytes. It does
// not block on a FIFO.
func read(name string) ([]byte, error) {
	refuse := func(err error) ([]byte, error) {
		return nil, &fs.PathError{Op: "read profile", Path: name, Err: err}
	}
	f, err := sys.OpenRead(name, false)
	if err != nil {
		if info, serr := os.Stat(name); serr == nil && !info.Mode().IsRegular() { // a socket
			return refuse(sys.NotRegular(info.Mode()))
		}
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return refuse(errDirectory)
	case !info.Mode().IsRegular():
		return refuse(sys.NotRegular(info.Mode()))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSize {
		return refuse(fmt.Errorf("not a profile of Stele: the file has more than %d bytes", maxSize))
	}
	return data, nil
}

func parse(data []byte) (*Profile, error) {
	// The schema says how to read the rest.
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("not a profile of Stele: %w", err)
	}
	switch name, _, _ := strings.Cut(Schema, "/"); {
	case head.Schema == Schema:
	case strings.HasPrefix(head.Schema, name+"/"):
		return nil, fmt.Errorf("its schema is %q; want %q: run stele tune again", head.Schema, Schema)
	case head.Schema == "":
		return nil, errors.New("not a profile of Stele: it names no schema")
	default:
		return nil, fmt.Errorf("not a profile of Stele: its schema is %q; want %q", head.Schema, Schema)
	}
	p := new(Profile)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%w: run stele tune again", err)
	}
	return p, nil
}

// check returns an error for a value that stele tune does not write, so that Load
// fails, with the file's name, rather than a later open with the profile.
func (p *Profile) check() error {
	for _, f := range []struct {
		field, value string
		known        []string
	}{
		{"read.random", p.Read.Random, []string{"buffered", "mapped", "direct", "uncached"}},
		{"read.sequential", p.Read.Sequential, []string{"buffered", "mapped", "direct", "uncached"}},
		{"write.way", p.Write.Way, []string{"buffered", "direct", "uncached"}},
		{"write.sync", p.Write.Sync, []string{"fdatasync", "fsync", "dsync", "o_dsync"}},
		{"wal.sync", p.WAL.Sync, []string{"fdatasync", "dsync", "direct"}},
		{"header.strategy", p.Header.Strategy, []string{"clone", "kernel-copy", "copy"}},
	} {
		if f.value != "" && !slices.Contains(f.known, f.value) {
			return setting.Wrong(f.field, f.value, "one of %q", f.known)
		}
	}
	for _, f := range []struct {
		field string
		value int64
	}{
		{"read.buffer_size", int64(p.Read.BufferSize)},
		{"read.readahead", int64(p.Read.Readahead)},
		{"read.parallel", int64(p.Read.Parallel)},
		{"write.buffer_size", int64(p.Write.BufferSize)},
		{"wal.max_delay_ns", int64(p.WAL.MaxDelay)},
		{"wal.segment_size", p.WAL.SegmentSize},
		{"create.shards", int64(p.Create.Shards)},
		{"create.goroutines", int64(p.Create.Goroutines)},
	} {
		if err := setting.AtLeast(f.field, f.value, 0); err != nil {
			return err
		}
	}
	return nil
}

// Encode writes the profile as JSON in the layout Schema, which it sets. It
// promises nothing after a crash: stele tune writes by atomicfile.WriteFile, so
// that a crash leaves the old profile or the new.
func (p *Profile) Encode(w io.Writer) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("profile: encode: %w", err)
	}
	out := *p
	out.Schema = Schema
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&out); err != nil {
		return fmt.Errorf("profile: encode: %w", err)
	}
	return nil
}
