package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The stores that experiment restart opens.
const (
	restartSealed = "all in segments"
	restartLog    = "all in the log"
)

// restartLines is the largest number of lines in the log of a killed store: 140 MB.
const restartLines = 1_000_000

// restart opens a store after kill -9. The files are not in the page cache.
func (l logSuite) restart() lab.Experiment {
	e := l.experiment("restart", run.Params{})
	lines := min(l.lines(), restartLines)
	e.Question = "How long does a store take to be open again after kill -9?"
	e.Op = fmt.Sprintf("a store of %d lines opened, until everything is replayed and appends go on", lines)
	e.Ops, e.MaxRounds = 1, 10
	for _, v := range []struct {
		name, doc string
		sealed    bool
	}{
		{restartSealed, "the store was sealed before: the ends of its segments are read", true},
		{restartLog, "nothing was sealed: the log is verified and replayed, and sealed again as memory fills", false},
	} {
		e.Variants = append(e.Variants, lab.Variant{
			Name: v.name, Doc: v.doc, Promise: job.NothingWritten(), Baseline: v.sealed,
			Run: func(b *lab.B) error { return l.runRestart(b, lines, v.sealed) },
		})
	}
	return e
}

func (l logSuite) runRestart(b *lab.B, want int64, sealed bool) (err error) {
	lines, err := l.shared(b)
	if err != nil {
		return err
	}
	defer lines.Close() // nothing is written
	lines.chunks = lines.chunks[:want/logChunk+1]
	from, err := killedStore(b, lines, sealed)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.Dir, "store")
	if err := copyStore(from, dir); err != nil {
		return err
	}
	if err := dropDir(dir); err != nil {
		return err
	}
	var s *logstore.Store
	for b.Loop() {
		if s != nil {
			return errors.New("a store is opened once")
		}
		begun := time.Now()
		if s, err = logstore.Open(dir, logstore.Options{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		b.Report("open_ns", float64(time.Since(begun)))
		_, _, err = find(b.Context(), s, logstore.Query{Order: logstore.Backward, Limit: logLast})
		if err != nil && !errors.Is(err, logstore.ErrReplaying) {
			return err
		}
		b.Report("first_answer_ns", float64(time.Since(begun)))
		<-s.Ready()
	}
	n, _, err := countAll(b.Context(), s)
	if err == nil && n != want {
		err = fmt.Errorf("the store has %d lines; want %d", n, want)
	}
	return err
}

// killedStore returns a store that all blocks share, as kill -9 leaves it: a copy of an
// idle store that is open.
func killedStore(b *lab.B, lines *logFile, sealed bool) (string, error) {
	return b.Shared(fmt.Sprintf("log-killed-%v", sealed), func(dir string) (err error) {
		open := filepath.Join(b.Dir, "killed")
		o := logstore.Options{}
		if !sealed {
			o = unsealed(lines.chunks[len(lines.chunks)-1])
		}
		s, err := logstore.Open(open, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(open)) }()
		if err := appendLines(b.Context(), s, lines); err != nil {
			return err
		}
		if sealed {
			if err := s.Seal(b.Context()); err != nil {
				return err
			}
		}
		return copyKilled(b.Context(), open, dir)
	})
}

// copyKilled copies a store that is open, as kill -9 would leave it at one moment. After
// the last append the store still prepares and removes files of its log in the
// background, so a copy counts only if the same files were there before and after.
func copyKilled(ctx context.Context, from, to string) error {
	for {
		before, err := namesIn(from)
		if err == nil {
			err = copyStore(from, to)
		}
		after, err2 := namesIn(from)
		err = errors.Join(err, err2)
		if err == nil && slices.Equal(before, after) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}

// namesIn returns the paths of the regular files below dir.
func namesIn(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// unsealed returns the options of a store that seals none of so many bytes of lines by
// itself.
func unsealed(bytes int64) logstore.Options {
	return logstore.Options{Memory: 16 * max(bytes, 8*datafile.MiB), SealAge: 24 * time.Hour, MinFree: 1}
}

// dropDir drops all files below dir from the page cache.
func dropDir(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err = f.Sync(); err == nil {
			err = pagecache.Drop(f)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil // then the file may stay warm
		}
		return errors.Join(err, f.Close())
	})
}
