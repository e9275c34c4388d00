// Package profile holds what was found out about a disk, for those that write
// to it and read from it: package wal, package fileio, and the log store.
// stele tune measures and writes it.
//
// A profile never changes what a call promises. It only chooses among ways
// that promise the same, and sizes.
package profile

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Schema names the layout of the file. The number grows when a reader of the
// old layout would misread the new one; fields may be added without that.
const Schema = "stele.profile/1"

// FileName is the name that stele tune gives the file in the folder it
// measured.
const FileName = "stele-profile.json"

// A Profile is what suits one disk. A field with its zero value was not
// measured, and leaves the default of whoever reads it.
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

// Read is about readers of package fileio.
type Read struct {
	Random     string `json:"random,omitempty"`     // way of warm random reads: "buffered", "mapped", "direct", "uncached"
	Sequential string `json:"sequential,omitempty"` // way of long sequential reads
	BufferSize int    `json:"buffer_size,omitempty"`
	Readahead  int    `json:"readahead,omitempty"` // bytes ahead of a sequential reader
	Parallel   int    `json:"parallel,omitempty"`  // reads at once after which more bring no more
}

// Write is about writers of package fileio.
type Write struct {
	Way        string `json:"way,omitempty"` // "buffered", "direct", "uncached"
	BufferSize int    `json:"buffer_size,omitempty"`
	Sync       string `json:"sync,omitempty"` // mechanism: "fdatasync", "dsync" (RWF_DSYNC or O_DSYNC)
}

// WAL is about package wal.
type WAL struct {
	Sync        string        `json:"sync,omitempty"`         // "fdatasync", "dsync", "direct"
	MaxDelay    time.Duration `json:"max_delay_ns,omitempty"` // the group-commit window
	SegmentSize int64         `json:"segment_size,omitempty"`
}

// Create is about package newfile.
type Create struct {
	Shards     int `json:"shards,omitempty"`
	Goroutines int `json:"goroutines,omitempty"` // at once after which more bring no more
}

// Header is about package header.
type Header struct {
	Strategy string `json:"strategy,omitempty"` // of a replacement at level Power
}

// A Figure is one measured value behind a choice.
type Figure struct {
	For   string  `json:"for"`  // the field it speaks for: "wal.sync"
	Name  string  `json:"name"` // what was measured: "pwrite + fdatasync, 1 KiB"
	Value float64 `json:"value"`
	Lo    float64 `json:"lo,omitempty"` // its 95 % interval, both 0 where there is none
	Hi    float64 `json:"hi,omitempty"`
	Unit  string  `json:"unit"`
	Taken bool    `json:"taken,omitempty"` // the way that was chosen
}

// Load reads a profile. A folder stands for the file FileName in it. The error
// of a file that is none, or of a layout this version cannot read, says so;
// one that is missing is fs.ErrNotExist.
func Load(name string) (*Profile, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, FileName)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var p Profile
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, &fs.PathError{Op: "read profile", Path: name, Err: err}
	}
	if p.Schema != Schema {
		return nil, &fs.PathError{Op: "read profile", Path: name, Err: fmt.Errorf("its schema is %q, this version reads %q; run stele tune again", p.Schema, Schema)}
	}
	return &p, nil
}
