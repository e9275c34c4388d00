// Package profile holds what was found out about a disk, for those that write
// to it and read from it: package wal and package fileio. stele tune measures
// and writes it.
//
// A profile never changes what a call promises. It only chooses among ways
// that promise the same, and sizes.
//
// # Mistakes to avoid
//
//   - Carrying a profile to another machine, disk or file system: it holds what
//     was fast on the one that Dir, FileSystem and Device name.
//   - Keeping one for good. A new kernel, a fuller disk or another mount option
//     is a reason to run stele tune again; Made tells how old it is.
//   - Measuring while the disk has other work, unless it always has.
//   - Taking an empty field for a measured zero: it was not measured, or nothing
//     was better than the default.
//   - Expecting newfile to read it: Create.Shards goes into newfile.Options by
//     hand, as the number of shards belongs to a folder that has files.
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

	"github.com/stele-go/stele/internal/sys"
)

// Schema names the layout of the file. The number grows when a reader of the
// old layout would misread the new one; fields may be added without that.
const Schema = "stele.profile/1"

// FileName is the name that stele tune gives the file in the folder it
// measured.
const FileName = "stele-profile.json"

// A Profile is what suits one disk. A field with its zero value was not
// measured, or nothing was found that is better than the default: whoever reads
// it keeps that.
type Profile struct {
	Schema string    `json:"schema"`
	Made   time.Time `json:"made"`
	// Where it was measured: the folder, its file system and its device.
	Dir        string `json:"dir"`
	FileSystem string `json:"file_system"`
	Device     string `json:"device"`

	Read   Read   `json:"read"`
	Write  Write  `json:"write"`
	WAL    WAL    `json:"wal"`
	Create Create `json:"create"`
	Header Header `json:"header"`

	// Figures are what the choices rest on.
	Figures []Figure `json:"figures,omitempty"`
}

// Read is about readers of package fileio, but for Parallel, which is for who
// starts the goroutines.
type Read struct {
	Random     string `json:"random,omitempty"`     // way of random reads: "buffered", "mapped", "direct", "uncached"
	Sequential string `json:"sequential,omitempty"` // way of long sequential reads
	BufferSize int    `json:"buffer_size,omitempty"`
	Readahead  int    `json:"readahead,omitempty"` // bytes ahead of a sequential reader
	Parallel   int    `json:"parallel,omitempty"`  // reads at once after which more bring no more
}

// Write is about writers of package fileio.
type Write struct {
	Way        string `json:"way,omitempty"` // "buffered", "direct", "uncached"
	BufferSize int    `json:"buffer_size,omitempty"`
	Sync       string `json:"sync,omitempty"` // mechanism: "fdatasync", "fsync", "dsync" (RWF_DSYNC), "o_dsync"
}

// WAL is about package wal.
type WAL struct {
	Sync        string        `json:"sync,omitempty"`         // "fdatasync", "dsync", "direct"
	MaxDelay    time.Duration `json:"max_delay_ns,omitempty"` // the group-commit window
	SegmentSize int64         `json:"segment_size,omitempty"` // bytes; set by hand, stele tune does not measure it
}

// Create is for users of package newfile, which reads no profile: Shards goes
// into newfile.Options, Goroutines is how many to start.
type Create struct {
	Shards     int `json:"shards,omitempty"`
	Goroutines int `json:"goroutines,omitempty"` // at once after which more bring no more
}

// Header is for users of package header, which reads no profile: Strategy goes
// into header.Options of atomic changes at level Power.
type Header struct {
	Strategy string `json:"strategy,omitempty"` // "clone", "kernel-copy", "copy"
}

// A Figure is one measured value behind a choice.
type Figure struct {
	For   string  `json:"for"`            // the choice it speaks for: "wal.sync"
	Load  string  `json:"load,omitempty"` // what was done: "1 appender, records of 1 KiB"
	Name  string  `json:"name"`           // the way: "fdatasync"
	Value float64 `json:"value"`          // the median
	Lo    float64 `json:"lo,omitempty"`   // its 95 % interval, both 0 where there is none
	Hi    float64 `json:"hi,omitempty"`
	Unit  string  `json:"unit"` // "ns", of one operation
	// Ratio is that of its time to the default's, with its 95 % interval, 0
	// where there is none, and Verdict the lab's word for it: "faster",
	// "slower", "same", "cannot tell". The default itself has none of them.
	Ratio   float64 `json:"ratio,omitempty"`
	RatioLo float64 `json:"ratio_lo,omitempty"`
	RatioHi float64 `json:"ratio_hi,omitempty"`
	Verdict string  `json:"verdict,omitempty"`
	Taken   bool    `json:"taken,omitempty"` // the way that was chosen
}

// Load reads a profile. A folder stands for the file FileName in it. The error
// of a file that is none, or of a layout this version cannot read, says so;
// one that is missing is fs.ErrNotExist.
func Load(name string) (*Profile, error) {
	data, err := read(name)
	if errors.Is(err, errFolder) {
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

// errFolder is in the chain of an error of read of a folder.
var errFolder = errors.New("a folder; want a regular file")

// read returns the bytes of a file that may be a profile. It waits for no FIFO and
// reads no more than a profile can have.
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
		return refuse(errFolder)
	case !info.Mode().IsRegular():
		return refuse(sys.NotRegular(info.Mode()))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSize {
		return refuse(fmt.Errorf("more than %d bytes; no profile is as long", maxSize))
	}
	return data, nil
}

func parse(data []byte) (*Profile, error) {
	// The schema decides what the rest is to be read as.
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("not a profile of Stele: %w", err)
	}
	switch name, _, _ := strings.Cut(Schema, "/"); {
	case head.Schema == Schema:
	case strings.HasPrefix(head.Schema, name+"/"):
		return nil, fmt.Errorf("its schema is %q, this version reads %q: run stele tune again", head.Schema, Schema)
	case head.Schema == "":
		return nil, errors.New("not a profile of Stele: it names no schema")
	default:
		return nil, fmt.Errorf("not a profile of Stele: its schema is %q, want %q", head.Schema, Schema)
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

// check refuses what no stele tune has written, here, where the file is known,
// rather than where a log or a file is opened with it.
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
			return fmt.Errorf("%s is %q, this version knows %q", f.field, f.value, f.known)
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
		if f.value < 0 {
			return fmt.Errorf("%s is %d, want 0 or more", f.field, f.value)
		}
	}
	return nil
}

// Encode writes the profile as JSON in the layout that Schema names, which it
// sets. It says nothing of what survives: stele tune writes by
// atomicfile.WriteFile, so that a crash leaves the old profile or the new.
func (p *Profile) Encode(w io.Writer) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	out := *p
	out.Schema = Schema
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&out); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	return nil
}
