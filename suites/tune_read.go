package suites

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/profile"
)

// tuneFile is the file that is read; it is written once a run.
const tuneFile = 32 * mebibyte

// tuneAuto names the setting that leaves the way to package fileio or header.
const tuneAuto = "auto"

// tuneSequential chooses way, buffer and readahead of readers that go through a
// file, as a whole: they do not add up. Warm files are a load too, for nobody
// knows beforehand whether a file is in the page cache.
func tuneSequential(s scale) Choice {
	c := Choice{
		Field:    "read.sequential",
		Question: "By which way, with which buffer and how much readahead is a file read through fastest?",
		Default:  "buffered with a buffer of 128 KiB and the kernel's readahead, uncached where a file would fill the memory",
	}
	settings := map[string]fileSetting{}
	for _, f := range []fileSetting{
		{}, {buffer: 1 << 20}, {readahead: 512 << 10}, {readahead: fileio.MaxWindow},
		{way: fileio.Mapped}, {way: fileio.Direct, buffer: 1 << 20}, {way: fileio.Uncached},
	} {
		set := Setting{Name: f.String(), Doc: "fileio.Reader.Read, " + f.String()}
		if f != (fileSetting{}) {
			set.Says = f.says("read", "sequential")
			set.Set = func(p *profile.Profile) {
				if f.way != fileio.Auto {
					p.Read.Sequential = f.way.String()
				}
				p.Read.BufferSize, p.Read.Readahead = f.buffer, f.readahead
			}
		}
		settings[set.Name] = f
		c.Settings = append(c.Settings, set)
	}
	size := s.of(tuneFile)
	for _, state := range []string{cacheCold, cacheWarm} {
		j := readJob{size: size, block: tunePiece, state: state}
		c.load("a "+state+" file", lab.Experiment{
			Params: lab.Params{"cache": state},
			Op:     fmt.Sprintf("the next %s of a file of %s, %s", sizeName(tunePiece), sizeName(tuneFile), stateText(state)),
			Ops:    size / 2 / tunePiece, // of a file that may have become smaller
		}, func(set Setting, _ *lab.Experiment) lab.Variant {
			return j.variant(tuneReader(settings[set.Name]))
		})
	}
	return c
}

// tuneRandom chooses the way of readers that go anywhere in a file.
func tuneRandom(s scale) Choice {
	c := Choice{
		Field:    "read.random",
		Question: "By which way are pages anywhere in a file read fastest?",
		Default:  "mapped, where a file of 1 MiB or more takes no more than half of the free memory",
		Settings: []Setting{{Name: tuneAuto, Doc: "fileio.Reader.ReadAt: the way that package fileio takes"}},
	}
	for _, way := range []fileio.Way{fileio.Buffered, fileio.Direct} {
		c.Settings = append(c.Settings, Setting{
			Name: way.String(), Doc: "fileio.Reader.ReadAt, " + way.String(), Says: "read.random " + way.String(),
			Set: func(p *profile.Profile) { p.Read.Random = way.String() },
		})
	}
	for _, state := range []string{cacheWarm, cacheCold} {
		j := readJob{size: s.of(tuneFile), block: pageBytes, state: state, random: true}
		c.load("a "+state+" file", lab.Experiment{
			Params: lab.Params{"cache": state},
			Op:     fmt.Sprintf("4 KiB anywhere in a file of %s, %s", sizeName(tuneFile), stateText(state)),
			MaxOps: j.size / pageBytes / 2, Stateless: state == cacheWarm,
		}, func(set Setting, _ *lab.Experiment) lab.Variant {
			way, err := fileio.ParseWay(set.Name)
			if err != nil {
				panic(err) // the settings are made of ways
			}
			return j.variant(tuneReader(fileSetting{way: way}))
		})
	}
	return c
}

// tuneReader reads as a program does: by Read where it goes through the file,
// so that the Reader's own buffer is in use, by ReadAt where it does not.
func tuneReader(f fileSetting) readWay {
	return readWay{open: func(path string, block int, p fileio.Pattern) (blockReader, error) {
		r, err := fileio.Open(path, fileio.Options{
			Way: f.way, Pattern: p, BufferSize: f.buffer, Readahead: fileio.Readahead(f.readahead),
		})
		if pe, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, errors.ErrUnsupported) {
			err = &notHere{pe.Err.Error()} // the path, of a file of the block, says nothing
		}
		if err != nil {
			return blockReader{}, err
		}
		buf := touched(fileio.AlignedBuffer(block))
		if p == fileio.Random {
			return blockReader{readAtInto(r, buf), r.Close}, nil
		}
		next := int64(0)
		return blockReader{
			at: func(off int64, look func([]byte) error) error {
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
			close: r.Close,
		}, nil
	}}
}

// tuneParallel asks how many reads at once the device wants.
func tuneParallel(s scale) Choice {
	c := Choice{
		Field:    "read.parallel",
		Question: "How many reads at once bring nearly all that the device has?",
		Default:  "as many as the program starts",
		Knee:     true,
		Settings: tuneNumbers("read.parallel", func(p *profile.Profile, n int) { p.Read.Parallel = n }),
	}
	j := surfaceJob{size: s.of(tuneFile), promise: none}
	c.load("4 KiB past the page cache", lab.Experiment{
		Op:     "4 KiB read past the page cache at a random page",
		MaxOps: 50_000, Stateless: true,
	}, func(set Setting, _ *lab.Experiment) lab.Variant {
		return j.blocking("goroutines", tuneNumber(set))
	})
	return c
}
