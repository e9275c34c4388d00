package tuning

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/rw"
)

const (
	// tuneStream is what one operation writes.
	tuneStream = 16 * datafile.MiB
	// tunePiece is the size of sequential reads and writes, smaller than any buffer.
	tunePiece = 16 << 10
)

// A fileSetting is a Setting of a reader or a writer.
type fileSetting struct {
	way       fileio.Way
	buffer    int // bytes, 0 is the default
	readahead int // bytes, 0 is the default
}

func (f fileSetting) String() string {
	name := f.way.String()
	if f.buffer > 0 {
		name += ", buffer " + units.Size(int64(f.buffer))
	}
	if f.readahead > 0 {
		name += ", readahead " + units.Size(int64(f.readahead))
	}
	return name
}

// says returns the setting as the profile has it. field is that of the way:
// "write.way".
func (f fileSetting) says(field string) string {
	part, way, _ := strings.Cut(field, ".")
	var all []byte
	add := func(field, value string) {
		if len(all) > 0 {
			all = append(all, ", "...)
		}
		all = fmt.Appendf(all, "%s.%s %s", part, field, value)
	}
	if f.way != fileio.Auto {
		add(way, f.way.String())
	}
	if f.buffer > 0 {
		add("buffer_size", strconv.Itoa(f.buffer))
	}
	if f.readahead > 0 {
		add("readahead", strconv.Itoa(f.readahead))
	}
	return string(all)
}

// later returns the cost of a way after its operations, or "".
func (f fileSetting) later() string {
	if f.way == fileio.Direct || f.way == fileio.Uncached {
		return "the page cache does not keep the file, so the next read of it comes from the disk"
	}
	return ""
}

// fileSettings adds the settings of list, the first of which is the default, and
// returns them by name. set puts one into a profile.
func (c *Choice) fileSettings(by string, list []fileSetting, set func(p *profile.Profile, f fileSetting)) map[string]fileSetting {
	byName := map[string]fileSetting{}
	for i, f := range list {
		s := Setting{Name: f.String(), Doc: by + ", " + f.String(), Later: f.later()}
		if i > 0 {
			s.Says = f.says(c.Field)
			s.set = func(p *profile.Profile) { set(p, f) }
		}
		byName[s.Name] = f
		c.Settings = append(c.Settings, s)
	}
	return byName
}

// tuneWriteWay chooses way and buffer of writers together, because the best buffer
// depends on the way.
func tuneWriteWay(s job.Scale) Choice {
	c := Choice{
		Field:    "write.way",
		Question: "By which way and with which buffer is a file written fastest?",
		Default:  fmt.Sprintf("buffered, with a buffer of %s", units.Size(fileio.DefaultWriteBuffer)),
		later:    "read_after_ns", laterLoad: "reading the file once it is written",
	}
	settings := c.fileSettings("fileio.Writer", []fileSetting{
		{}, {buffer: 32 << 10}, {buffer: 1 << 20},
		{way: fileio.Direct, buffer: 1 << 20}, {way: fileio.Direct, buffer: 4 << 20}, {way: fileio.Uncached, buffer: 1 << 20},
	}, func(p *profile.Profile, f fileSetting) {
		if f.way != fileio.Auto {
			p.Write.Way = f.way.String()
		}
		p.Write.BufferSize = f.buffer
	})
	size := s.Of(tuneStream)
	name := fmt.Sprintf("%s in writes of %s, and a commit", units.Size(tuneStream), units.Size(tunePiece))
	c.load(name, lab.Experiment{
		Op: name + ", into a new file", MaxOps: 4,
	}, func(set Setting, _ *lab.Experiment) lab.Variant {
		f := settings[set.Name]
		return lab.Variant{Promise: job.Promise(durability.Power, durability.Torn), Run: func(b *lab.B) error {
			return tuneWrite(b, size, fileio.WriterOptions{Way: f.way, BufferSize: f.buffer})
		}}
	})
	return c
}

// tuneWriteSync chooses how writers make commits durable.
func tuneWriteSync(s job.Scale) Choice {
	c := Choice{
		Field:    "write.sync",
		Question: "Which mechanism makes the commits of a writer durable fastest?",
		Default:  "fdatasync",
		Settings: []Setting{
			{Name: string(fileio.SyncFdatasync), Doc: "pwrite, fdatasync"},
			{
				Name: string(fileio.SyncDsync), Doc: "pwritev2 with RWF_DSYNC", Says: "write.sync dsync",
				set: func(p *profile.Profile) { p.Write.Sync = string(fileio.SyncDsync) },
			},
		},
	}
	for _, size := range []int{4 << 10, 64 << 10} {
		name := fmt.Sprintf("a commit after every %s", units.Size(int64(size)))
		c.load(name, lab.Experiment{
			Params: run.Params{"size": strconv.Itoa(size)},
			Op:     fmt.Sprintf("%s appended to a file, and committed", units.Size(int64(size))),
			MaxOps: s.Of(64*datafile.MiB) / int64(size) / 4,
		}, func(set Setting, _ *lab.Experiment) lab.Variant {
			return lab.Variant{Promise: job.Promise(durability.Power, durability.Torn), Run: func(b *lab.B) error {
				return tuneCommits(b, size, fileio.WriterOptions{Sync: fileio.Mechanism(set.Name)})
			}}
		})
	}
	return c
}

// newDurableFile makes an empty file whose name is durable, so that commits to it are
// durable.
func newDurableFile(dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Sync(), datafile.SyncDir(dir)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// asAsked returns an errors.ErrUnsupported if the writer fell back to another way.
func asAsked(w *fileio.Writer) error {
	if why := w.Stats().Fallback; why != nil {
		return job.Unsupported("%s", why.Error())
	}
	return nil
}

// tuneWrite writes a new file with each operation. Reading the files afterwards is
// not timed with it, and reported.
func tuneWrite(b *lab.B, size int64, o fileio.WriterOptions) (err error) {
	files := make([]*os.File, b.N)
	defer func() {
		for _, f := range files {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}()
	for i := range files {
		if files[i], err = newDurableFile(b.Dir, fmt.Sprintf("stream-%d", i)); err != nil {
			return err
		}
	}
	b.SetBytes(size)
	for b.Loop() {
		w, err := fileio.NewWriter(files[b.I()], o)
		if err != nil {
			return err
		}
		if err = rw.WriteStream(w, size, tunePiece); err == nil {
			err = w.Commit()
		}
		if err == nil {
			err = asAsked(w)
		}
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return reportReadAfter(b, files)
}

// reportReadAfter reads the written files through, once each, as any program would,
// and reports the time a file as read_after_ns.
func reportReadAfter(b *lab.B, files []*os.File) error {
	buf := make([]byte, tunePiece)
	begun := time.Now()
	for _, f := range files {
		r, err := os.Open(f.Name())
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buf)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	b.Report("read_after_ns", float64(time.Since(begun))/float64(len(files)))
	return nil
}

// tuneCommits appends to one file and commits with each operation.
func tuneCommits(b *lab.B, size int, o fileio.WriterOptions) (err error) {
	f, err := newDurableFile(b.Dir, "log")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := fileio.NewWriter(f, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	p := rw.StreamBlock(size)
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := w.Write(p); err != nil {
			return err
		}
		if err := w.Commit(); err != nil {
			return err
		}
	}
	return asAsked(w)
}
