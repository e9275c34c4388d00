package newfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of package newfile's level Power: whenever the power is cut, every
// file whose name was acknowledged is there, and a published one has all its content,
// acknowledged or not.

type makeFiles = func(dir string, ack func(rel string)) error

// filer wraps work that needs a Dir and acknowledges names.
func filer(o newfile.Options, work func(d *newfile.Dir, ack func(name string)) error) makeFiles {
	return func(dir string, ack func(string)) error {
		d, err := newfile.OpenDir(dir, o)
		if err != nil {
			return err
		}
		return fileIn(d, dir, ack, work)
	}
}

// rooted is filer with the directory as Options.Root.
func rooted(o newfile.Options, work func(d *newfile.Dir, ack func(name string)) error) makeFiles {
	return func(dir string, ack func(string)) error {
		r, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		o.Root, o.OneMount = r, true
		d, err := newfile.OpenDir(".", o)
		if err != nil {
			return err
		}
		return fileIn(d, dir, ack, work)
	}
}

func fileIn(d *newfile.Dir, dir string, ack func(string), work func(d *newfile.Dir, ack func(name string)) error) error {
	err := work(d, func(name string) {
		rel, relErr := filepath.Rel(dir, d.Path(name))
		if relErr != nil {
			panic(relErr) // both begin with dir
		}
		ack(rel)
	})
	return errors.Join(err, d.Close())
}

func createFiles(d *newfile.Dir, ack func(string)) error {
	for i := range 40 {
		name := fmt.Sprint("f", i)
		f, err := d.Create(name, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		ack(name)
	}
	return nil
}

func touchFiles(d *newfile.Dir, ack func(string)) error {
	for i := range 40 {
		name := fmt.Sprint("f", i)
		if err := d.Touch(name, 0o644); err != nil {
			return err
		}
		ack(name)
	}
	return nil
}

func batchFiles(d *newfile.Dir, ack func(string)) error {
	for i := range 8 {
		var names []string
		for j := range 40 {
			names = append(names, fmt.Sprintf("f%d-%d", i, j))
		}
		if _, err := d.Batch(context.Background(), slices.Values(names), 0o644, nil); err != nil {
			return err
		}
		for _, name := range names {
			ack(name)
		}
	}
	return nil
}

// raceFiles makes files from many goroutines, which share syncs.
func raceFiles(d *newfile.Dir, ack func(string)) error {
	return fromMany(ack, func(name string) error { return d.Touch(name, 0o644) })
}

func queueFiles(d *newfile.Dir, ack func(string)) error {
	q, err := newfile.NewQueue(d, newfile.QueueOptions{})
	if err != nil {
		return err
	}
	return errors.Join(fromMany(ack, func(name string) error {
		f, err := q.Create(context.Background(), name)
		if err != nil {
			return err
		}
		return f.Close()
	}), q.Close())
}

func fromMany(ack func(string), touch func(name string) error) error {
	return prove.Parallel(6, func(g int) error {
		for i := range 15 {
			name := fmt.Sprintf("f%d-%d", g, i)
			if err := touch(name); err != nil {
				return err
			}
			ack(name)
		}
		return nil
	})
}

// content of version v of a published file: some pages that say so.
func content(v int) []byte { return bytes.Repeat(fmt.Appendf(nil, "version %4d|", v), 1000) }

func publishFiles(d *newfile.Dir, ack func(string)) error {
	for v := range 25 {
		if err := publishOne(d, fmt.Sprint("p", v), v, (*newfile.File).Publish); err != nil {
			return err
		}
		ack(fmt.Sprint("p", v))
	}
	return nil
}

// publishDirect writes past the page cache and flushes nothing.
func publishDirect(dir string, ack func(string)) error {
	for v := range 25 {
		name := fmt.Sprint("p", v)
		if err := prove.ReplaceUnflushed(dir, name, content(v)); err != nil {
			return err
		}
		ack(name)
	}
	return nil
}

// replaceFile acknowledges "r", as often as it is replaced.
func replaceFile(d *newfile.Dir, ack func(string)) error {
	for v := range 25 {
		if err := publishOne(d, "r", v, (*newfile.File).Replace); err != nil {
			return err
		}
		ack("r")
	}
	return nil
}

func publishOne(d *newfile.Dir, name string, v int, give func(*newfile.File, string) error) error {
	f, err := newfile.Anonymous(d, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content(v))
	if err == nil {
		err = give(f, name)
	}
	return errors.Join(err, f.Close())
}

func checkFiles(dir string, acked []string) error {
	if err := prove.There(dir, acked, fs.FileMode.IsRegular); err != nil {
		return err
	}
	replaced := 0 // times that it was acknowledged
	for _, rel := range acked {
		if filepath.Base(rel) == "r" {
			replaced++
		}
	}
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		least, most := 0, 0
		switch base := e.Name(); {
		case base == "r":
			least, most = max(0, replaced-1), 24
		case strings.HasPrefix(base, "p"):
			if least, err = strconv.Atoi(base[1:]); err != nil {
				return err
			}
			most = least
		default:
			return nil
		}
		got, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for v := least; v <= most; v++ {
			if bytes.Equal(got, content(v)) {
				return nil
			}
		}
		return fmt.Errorf("%s: the content, %d bytes, is not that of versions %d to %d: %w", e.Name(), len(got), least, most, prove.ErrLost)
	})
}

func TestPower(t *testing.T) {
	plain, shards := newfile.Options{}, newfile.Options{Shards: 16}
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Holds(t, fs, checkFiles, []prove.Case[string]{
			{Name: "Create", Work: filer(plain, createFiles)},
			{Name: "Create in shards", Work: filer(shards, createFiles)},
			{Name: "Touch in shards", Work: filer(shards, touchFiles)},
			{Name: "Batch", Work: filer(plain, batchFiles)},
			{Name: "Batch in shards", Work: filer(shards, batchFiles)},
			{Name: "Touch, many goroutines", Work: filer(plain, raceFiles), Runs: 3},
			{Name: "Queue in shards", Work: filer(shards, queueFiles), Runs: 3},
			{Name: "Publish", Work: filer(plain, publishFiles)},
			{Name: "Publish in shards", Work: filer(shards, publishFiles)},
			{Name: "Replace in shards", Work: filer(shards, replaceFile)},
			{Name: "Create in shards below a root", Work: rooted(shards, createFiles)},
			{Name: "Replace in shards below a root", Work: rooted(shards, replaceFile)},
		})
	})
}

// A mutant without a sync is caught, whatever it does instead. Without shards the only
// directory that is synced is the root.
func TestMutants(t *testing.T) {
	kill, plain, shards := newfile.Options{Level: durability.Kill}, newfile.Options{}, newfile.Options{Shards: 16}
	const skip = crashtest.SkipSync
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Mutants(t, fs, checkFiles, []prove.Mutant[string]{
			{Name: "Create at level Kill", Work: filer(kill, createFiles)},
			{Name: "Touch at level Kill", Work: filer(kill, touchFiles)},
			{Name: "Batch at level Kill", Work: filer(kill, batchFiles)},
			{Name: "Queue at level Kill", Work: filer(kill, queueFiles)},
			{Name: "Publish at level Kill", Work: filer(kill, publishFiles)},
			{Name: "Create without its syncs", Work: filer(shards, createFiles), OnSync: prove.Always(skip)},
			{Name: "Batch without its syncs", Work: filer(shards, batchFiles), OnSync: prove.Always(skip)},
			{Name: "Queue without its syncs", Work: filer(shards, queueFiles), OnSync: prove.Always(skip)},
			{Name: "Create with sync_file_range", Work: filer(shards, createFiles), OnSync: prove.Always(crashtest.WriteOnly)},
			{Name: "Publish without sync of the directory", Work: filer(plain, publishFiles), OnSync: prove.Where(skip, prove.OfRoot)},
			{Name: "Publish without sync of the file", Work: filer(plain, publishFiles), OnSync: prove.Where(skip, prove.OfFile)},
			{Name: "Publish with sync_file_range", Work: filer(plain, publishFiles), OnSync: prove.Always(crashtest.WriteOnly)},
			{Name: "Publish with O_DIRECT and no flush", Work: publishDirect},
			{Name: "Create below a root without its syncs", Work: rooted(shards, createFiles), OnSync: prove.Always(skip)},
			{Name: "Replace without its syncs", Work: filer(plain, replaceFile), OnSync: prove.Always(skip)},
			{Name: "Replace without sync of the file", Work: filer(plain, replaceFile), OnSync: prove.Where(skip, prove.OfFile)},
		})
	})
}
