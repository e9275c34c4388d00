package tuning

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/rw"
)

// tuneFile is the file that is read; it is written once a run.
const tuneFile = 32 * datafile.MiB

// tuneAuto names the setting with which package fileio or header chooses the way.
const tuneAuto = "auto"

// tuneSequential chooses way, buffer and readahead of sequential readers together: their
// gains do not add up. Warm files are a load too, because a program does not know
// whether a file is in the page cache.
func tuneSequential(s job.Scale) Choice {
	c := Choice{
		Field:    "read.sequential",
		Question: "By which way, with which buffer and how much readahead is a file read through fastest?",
		Default:  "buffered with a buffer of 128 KiB and the kernel's readahead, uncached where a file would fill the memory",
	}
	settings := c.fileSettings("fileio.Reader.Read", []fileSetting{
		{}, {buffer: 1 << 20}, {readahead: 512 << 10}, {readahead: fileio.MaxWindow},
		{way: fileio.Mapped}, {way: fileio.Direct, buffer: 1 << 20}, {way: fileio.Uncached},
	}, func(p *profile.Profile, f fileSetting) {
		if f.way != fileio.Auto {
			p.Read.Sequential = f.way.String()
		}
		p.Read.BufferSize, p.Read.Readahead = f.buffer, f.readahead
	})
	size := s.Of(tuneFile)
	for _, state := range []string{datafile.Cold, datafile.Warm} {
		j := rw.Reads{Size: size, Block: tunePiece, State: state}
		c.load("a "+state+" file", lab.Experiment{
			Params: run.Params{"cache": state},
			Op:     fmt.Sprintf("the next %s of a file of %s, %s", units.Size(tunePiece), units.Size(tuneFile), datafile.StateText(state)),
			Ops:    size / 2 / tunePiece, // the file may be smaller than asked for
		}, func(set Setting, _ *lab.Experiment) lab.Variant {
			return j.Job(lab.Experiment{}).Variant(tuneReader(settings[set.Name]))
		})
	}
	return c
}

// tuneRandom chooses the way of random readers.
func tuneRandom(s job.Scale) Choice {
	c := Choice{
		Field:    "read.random",
		Question: "By which way are pages anywhere in a file read fastest?",
		Default:  "mapped, where a file of 1 MiB or more takes no more than half of the free memory",
		Settings: []Setting{{Name: tuneAuto, Doc: "fileio.Reader.ReadAt: the way that package fileio takes"}},
	}
	for _, way := range []fileio.Way{fileio.Buffered, fileio.Direct} {
		c.Settings = append(c.Settings, Setting{
			Name: way.String(), Doc: "fileio.Reader.ReadAt, " + way.String(), Says: "read.random " + way.String(),
			set: func(p *profile.Profile) { p.Read.Random = way.String() },
		})
	}
	for _, state := range []string{datafile.Warm, datafile.Cold} {
		j := rw.Reads{Size: s.Of(tuneFile), Block: datafile.PageSize, State: state, Random: true}
		c.load("a "+state+" file", lab.Experiment{
			Params: run.Params{"cache": state},
			Op:     fmt.Sprintf("4 KiB anywhere in a file of %s, %s", units.Size(tuneFile), datafile.StateText(state)),
			MaxOps: j.Size / datafile.PageSize / 2, Stateless: state == datafile.Warm,
		}, func(set Setting, _ *lab.Experiment) lab.Variant {
			way, err := fileio.ParseWay(set.Name)
			if err != nil {
				panic(err) // the settings are made of ways
			}
			return j.Job(lab.Experiment{}).Variant(tuneReader(fileSetting{way: way}))
		})
	}
	return c
}

// tuneReader reads as a program does: sequentially by Read, through the Reader's own
// buffer, and at random by ReadAt.
func tuneReader(f fileSetting) job.Way[rw.Reader] {
	return rw.ReadWay("", "", rw.Reader{Open: func(path string, block int, p fileio.Pattern) (rw.BlockReader, error) {
		r, err := fileio.Open(path, fileio.Options{
			Way: f.way, Pattern: p, BufferSize: f.buffer, Readahead: fileio.Readahead(f.readahead),
		})
		if pe, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, errors.ErrUnsupported) {
			err = job.Unsupported("%s", pe.Err.Error()) // without the path, which is of the block
		}
		if err != nil {
			return rw.BlockReader{}, err
		}
		buf := datafile.Touched(fileio.AlignedBuffer(block))
		if p == fileio.Random {
			return rw.BlockReader{At: rw.ReadAtInto(r, buf), Close: r.Close}, nil
		}
		next := int64(0)
		return rw.BlockReader{
			At: func(off int64, look func([]byte) error) error {
				if off != next { // round again
					if _, err := r.Seek(off, io.SeekStart); err != nil {
						return err
					}
				}
				next = off + int64(block)
				if _, err := io.ReadFull(r, buf); err != nil {
					return err
				}
				return look(buf)
			},
			Close: r.Close,
		}, nil
	}})
}

// tuneParallel asks how many reads at once make the device fastest.
func tuneParallel(s job.Scale) Choice {
	c := Choice{
		Field:    "read.parallel",
		Question: "How many reads at once bring nearly all that the device has?",
		Default:  "as many as the program starts",
		knee:     true,
		Settings: tuneNumbers("read.parallel", func(p *profile.Profile, n int) { p.Read.Parallel = n }),
	}
	j := rw.Surface{Size: s.Of(tuneFile), Promise: job.NothingWritten()}
	c.load("4 KiB past the page cache", lab.Experiment{
		Op:     "4 KiB read past the page cache at a random page",
		MaxOps: 50_000, Stateless: true,
	}, func(set Setting, _ *lab.Experiment) lab.Variant {
		return j.Blocking("goroutines", tuneNumber(set))
	})
	return c
}
