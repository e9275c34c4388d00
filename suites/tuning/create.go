package tuning

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/suites/files"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/rw"
)

// Goroutines that make files, and the files of a block.
const (
	tuneCreators = 64
	tuneCreated  = 4000
)

// tuneShards chooses over how many subdirectories new files are spread.
func tuneShards() Choice {
	c := Choice{
		Field:    "create.shards",
		Question: "Are files made faster if they are spread over subdirectories?",
		Default:  "none: all files are in the directory itself",
		Settings: []Setting{{Name: "no shards", Doc: "newfile.Dir.Create"}},
	}
	shards := map[string]int{"no shards": 0}
	for _, n := range []int{16, 256} {
		set := Setting{
			Name: fmt.Sprintf("%d shards", n), Doc: "newfile.Dir.Create, " + files.DocShards, Says: fmt.Sprintf("create.shards %d", n),
			set: func(p *profile.Profile) { p.Create.Shards = n },
		}
		shards[set.Name] = n
		c.Settings = append(c.Settings, set)
	}
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		c.load(fmt.Sprintf("%s, level %v", units.Count(tuneCreators, "goroutine"), level), lab.Experiment{
			Params: run.Params{"level": level.String()},
			Op:     "one new empty file, closed again",
			MaxOps: tuneCreated,
		}, func(set Setting, e *lab.Experiment) lab.Variant {
			return tuneCreate(e, files.DirOptions(level, shards[set.Name]), tuneCreators)
		})
	}
	return c
}

// tuneGoroutines asks how many goroutines at once make files fastest.
func tuneGoroutines() Choice {
	c := Choice{
		Field:    "create.goroutines",
		Question: "How many goroutines that make files bring nearly all that there is?",
		Default:  "as many as the program starts",
		knee:     true,
		Settings: tuneNumbers("create.goroutines", func(p *profile.Profile, n int) { p.Create.Goroutines = n }),
	}
	c.load("level power", lab.Experiment{
		Op:     "one new empty file, closed again, its name durable",
		MaxOps: tuneCreated,
	}, func(set Setting, e *lab.Experiment) lab.Variant {
		n := tuneNumber(set)
		v := tuneCreate(e, files.DirOptions(durability.Power, 0), n)
		v.Cell = &run.Cell{Surface: "goroutines", XName: "goroutines", X: n, Y: 1}
		return v
	})
	return c
}

func tuneCreate(e *lab.Experiment, o newfile.Options, goroutines int) lab.Variant {
	return files.Creating(*e, goroutines).Variant(files.DirCreate("", "", o))
}

// tuneHeader chooses how the header of a file is replaced all or nothing.
func tuneHeader(s job.Scale) Choice {
	c := Choice{
		Field:    "header.strategy",
		Question: "By which strategy is the header of a file replaced fastest, all or nothing?",
		Default:  "clone, kernel-copy or copy: the first that the file system has and the size is for",
		Settings: []Setting{{Name: tuneAuto, Doc: "header.Replace: the strategy that package header takes"}},
	}
	strategies := map[string]header.Strategy{tuneAuto: header.Auto}
	for _, st := range []header.Strategy{header.Clone, header.KernelCopy, header.Copy} {
		strategies[st.String()] = st
		c.Settings = append(c.Settings, Setting{
			Name: st.String(), Doc: "header.Replace by " + st.String(), Says: "header.strategy " + st.String(),
			set: func(p *profile.Profile) { p.Header.Strategy = st.String() },
		})
	}
	for _, size := range []int{64 << 10, 8 << 20} {
		content := min(s.Of(int64(size)), int64(size))
		c.load("a file of "+units.Size(int64(size)), lab.Experiment{
			Params: run.Params{"size": strconv.Itoa(size)},
			Op:     fmt.Sprintf("the header of a file of %s replaced, durably", units.Size(int64(size))),
			MaxOps: 1000, Stateless: true,
		}, func(set Setting, _ *lab.Experiment) lab.Variant {
			p := job.Promise(durability.Power, durability.OldOrNew)
			return lab.Variant{Promise: p, Run: func(b *lab.B) error {
				return tuneReplace(b, content, p, header.Options{Strategy: strategies[set.Name], Pad: header.PadByte('\n')})
			}}
		})
	}
	return c
}

// tuneReplace replaces the header of one file again and again.
func tuneReplace(b *lab.B, size int64, p run.Promise, o header.Options) error {
	f, err := newDurableFile(b.Dir, "file")
	if err != nil {
		return err
	}
	if err := errors.Join(rw.WriteStream(f, size, tunePiece), f.Sync(), f.Close()); err != nil {
		return err
	}
	head := headers.Head(128)
	first := header.Options{Pad: o.Pad}
	if _, err := header.Insert(context.Background(), f.Name(), head, first); err != nil {
		return err
	}
	for b.Loop() {
		copy(head, strconv.FormatInt(b.I(), 10))
		r, err := header.Replace(context.Background(), f.Name(), head, o)
		if err := headers.AsPromised(r, err, p); err != nil {
			return err
		}
	}
	return nil
}
