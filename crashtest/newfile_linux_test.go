package crashtest_test

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
	"sync"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

// The proof of package newfile's level Power: whenever the power is cut, every
// file whose name was acknowledged is there, and one that was published has
// all of its content, acknowledged or not.

type makeFiles = func(dir string, ack func(rel string)) error

// filer wraps work that needs a Dir. What it acknowledges is a name.
func filer(o newfile.Options, work func(d *newfile.Dir, ack func(name string)) error) makeFiles {
	return func(dir string, ack func(string)) error {
		d, err := newfile.OpenDir(dir, o)
		if err != nil {
			return err
		}
		return fileIn(d, dir, ack, work)
	}
}

// rooted is filer with the folder as Options.Root.
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

// raceFiles makes files from many goroutines, that share syncs.
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
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for g := range errs {
		wg.Go(func() {
			for i := range 15 {
				name := fmt.Sprintf("f%d-%d", g, i)
				if errs[g] = touch(name); errs[g] != nil {
					return
				}
				ack(name)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
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

// publishDirect writes past the page cache, and has nothing flushed.
func publishDirect(dir string, ack func(string)) error {
	for v := range 25 {
		name := fmt.Sprint("p", v)
		if err := direct(dir, name, content(v)); err != nil {
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
	for _, rel := range acked {
		fi, err := os.Lstat(filepath.Join(dir, rel))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w", rel, errLost)
		case err != nil:
			return err
		case !fi.Mode().IsRegular():
			return fmt.Errorf("%s is no file", rel)
		}
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
		return fmt.Errorf("%s: the content, %d bytes, is none of versions %d to %d: %w", e.Name(), len(got), least, most, errLost)
	})
}

func TestNewfilePower(t *testing.T) {
	plain, shards := newfile.Options{}, newfile.Options{Shards: 16}
	each(t, func(t *testing.T, fs string) {
		prove(t, fs, checkFiles, []proof[string]{
			{name: "Create", work: filer(plain, createFiles)},
			{name: "Create in shards", work: filer(shards, createFiles)},
			{name: "Touch in shards", work: filer(shards, touchFiles)},
			{name: "Batch", work: filer(plain, batchFiles)},
			{name: "Batch in shards", work: filer(shards, batchFiles)},
			{name: "Touch, many goroutines", work: filer(plain, raceFiles), runs: 3},
			{name: "Queue in shards", work: filer(shards, queueFiles), runs: 3},
			{name: "Publish", work: filer(plain, publishFiles)},
			{name: "Publish in shards", work: filer(shards, publishFiles)},
			{name: "Replace in shards", work: filer(shards, replaceFile)},
			{name: "Create in shards below a root", work: rooted(shards, createFiles)},
			{name: "Replace in shards below a root", work: rooted(shards, replaceFile)},
		})
	})
}

// Each way to do without a sync is caught. Without shards the only folder that
// is synced is the root.
func TestNewfileMutants(t *testing.T) {
	kill, plain, shards := newfile.Options{Level: durability.Kill}, newfile.Options{}, newfile.Options{Shards: 16}
	const skip = crashtest.SkipSync
	each(t, func(t *testing.T, fs string) {
		refute(t, fs, checkFiles, []mutant[string]{
			{name: "Create at level Kill", work: filer(kill, createFiles)},
			{name: "Touch at level Kill", work: filer(kill, touchFiles)},
			{name: "Batch at level Kill", work: filer(kill, batchFiles)},
			{name: "Queue at level Kill", work: filer(kill, queueFiles)},
			{name: "Publish at level Kill", work: filer(kill, publishFiles)},
			{name: "Create without its syncs", work: filer(shards, createFiles), onSync: always(skip)},
			{name: "Batch without its syncs", work: filer(shards, batchFiles), onSync: always(skip)},
			{name: "Queue without its syncs", work: filer(shards, queueFiles), onSync: always(skip)},
			{name: "Create with sync_file_range", work: filer(shards, createFiles), onSync: always(crashtest.WriteOnly)},
			{name: "Publish without sync of the folder", work: filer(plain, publishFiles), onSync: where(skip, ofRoot)},
			{name: "Publish without sync of the file", work: filer(plain, publishFiles), onSync: where(skip, ofFile)},
			{name: "Publish with sync_file_range", work: filer(plain, publishFiles), onSync: always(crashtest.WriteOnly)},
			{name: "Publish with O_DIRECT and no flush", work: publishDirect},
			{name: "Create below a root without its syncs", work: rooted(shards, createFiles), onSync: always(skip)},
			{name: "Replace without its syncs", work: filer(plain, replaceFile), onSync: always(skip)},
			{name: "Replace without sync of the file", work: filer(plain, replaceFile), onSync: where(skip, ofFile)},
		})
	})
}
