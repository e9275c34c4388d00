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
		err = work(d, func(name string) {
			rel, relErr := filepath.Rel(dir, d.Path(name))
			if relErr != nil {
				panic(relErr) // both begin with dir
			}
			ack(rel)
		})
		return errors.Join(err, d.Close())
	}
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
	onRequest(t)
	shards := newfile.Options{Shards: 16}
	each(t, func(t *testing.T, fs string) {
		for _, c := range []struct {
			name string
			work makeFiles
			runs int // recordings that the cuts are spread over
		}{
			{"Create", filer(newfile.Options{}, createFiles), 1},
			{"Create in shards", filer(shards, createFiles), 1},
			{"Touch in shards", filer(shards, touchFiles), 1},
			{"Batch", filer(newfile.Options{}, batchFiles), 1},
			{"Batch in shards", filer(shards, batchFiles), 1},
			{"Touch, many goroutines", filer(newfile.Options{}, raceFiles), 3},
			{"Queue in shards", filer(shards, queueFiles), 3},
			{"Publish", filer(newfile.Options{}, publishFiles), 1},
			{"Publish in shards", filer(shards, publishFiles), 1},
			{"Replace in shards", filer(shards, replaceFile), 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				for range c.runs {
					rec := crashtest.Record(t, crashtest.Options{FS: fs, Seed: *seedFlag}, c.work)
					keeps(t, rec, (cuts()+c.runs-1)/c.runs, checkFiles)
				}
			})
		}
	})
}

// Each way to do without a sync is caught.
func TestNewfileMutants(t *testing.T) {
	onRequest(t)
	always := func(f crashtest.Fault) func(crashtest.Sync) crashtest.Fault {
		return func(crashtest.Sync) crashtest.Fault { return f }
	}
	// Without shards the only folder that is synced is the root.
	onlyRoot := func(f crashtest.Fault) func(crashtest.Sync) crashtest.Fault {
		return func(s crashtest.Sync) crashtest.Fault {
			if s.Path == "." {
				return f
			}
			return crashtest.NoFault
		}
	}
	onlyFile := func(f crashtest.Fault) func(crashtest.Sync) crashtest.Fault {
		return func(s crashtest.Sync) crashtest.Fault {
			if s.Path != "." {
				return f
			}
			return crashtest.NoFault
		}
	}
	kill, shards := newfile.Options{Level: durability.Kill}, newfile.Options{Shards: 16}
	each(t, func(t *testing.T, fs string) {
		for _, c := range []struct {
			name   string
			work   makeFiles
			onSync func(crashtest.Sync) crashtest.Fault
		}{
			{"Create at level Kill", filer(kill, createFiles), nil},
			{"Touch at level Kill", filer(kill, touchFiles), nil},
			{"Batch at level Kill", filer(kill, batchFiles), nil},
			{"Queue at level Kill", filer(kill, queueFiles), nil},
			{"Publish at level Kill", filer(kill, publishFiles), nil},
			{"Create without its syncs", filer(shards, createFiles), always(crashtest.SkipSync)},
			{"Batch without its syncs", filer(shards, batchFiles), always(crashtest.SkipSync)},
			{"Queue without its syncs", filer(shards, queueFiles), always(crashtest.SkipSync)},
			{"Create with sync_file_range", filer(shards, createFiles), always(crashtest.WriteOnly)},
			{"Publish without sync of the folder", filer(newfile.Options{}, publishFiles), onlyRoot(crashtest.SkipSync)},
			{"Publish without sync of the file", filer(newfile.Options{}, publishFiles), onlyFile(crashtest.SkipSync)},
			{"Replace without its syncs", filer(newfile.Options{}, replaceFile), always(crashtest.SkipSync)},
			{"Replace without sync of the file", filer(newfile.Options{}, replaceFile), onlyFile(crashtest.SkipSync)},
		} {
			t.Run(c.name, func(t *testing.T) {
				rec := crashtest.Record(t, crashtest.Options{FS: fs, Seed: *seedFlag, OnSync: c.onSync}, c.work)
				caught(t, rec, few(), checkFiles)
			})
		}
	})
}
