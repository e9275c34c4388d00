package header_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

func manyFiles(t *testing.T, n int) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprint(i%3))
		must(t, os.MkdirAll(sub, 0o755))
		name := filepath.Join(sub, fmt.Sprintf("f%d", i))
		must(t, os.WriteFile(name, fmt.Appendf(nil, "content %d\n", i), 0o644))
		names = append(names, name)
	}
	return dir, names
}

// reporting returns o with do called for each file.
func reporting(o header.AllOptions, do func(d header.FileResult)) header.AllOptions {
	o.Report = do
	return o
}

func headOf(name string) ([]byte, error) { return []byte("head of " + filepath.Base(name) + "\n"), nil }

func TestInsertAll(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		for _, mode := range []header.Mode{header.Atomic, header.InPlace} {
			t.Run(fmt.Sprint(level, mode), func(t *testing.T) {
				_, names := manyFiles(t, 150)
				missing := filepath.Join(filepath.Dir(names[0]), "missing")
				asked := slices.Concat(names, []string{missing})
				o := header.AllOptions{Options: header.Options{Level: level, Mode: mode}, Workers: 3}
				bad := errors.New("bad")
				var got []string
				results, err := header.InsertAll(t.Context(), slices.Values(asked), func(name string) ([]byte, error) {
					switch filepath.Base(name) {
					case "f7":
						return nil, bad
					case "f8":
						return nil, nil
					}
					return headOf(name)
				}, reporting(o, func(d header.FileResult) {
					got = append(got, d.Name)
					// A file is unlocked before its result is yielded.
					switch base := filepath.Base(d.Name); {
					case base == "missing":
						if !errors.Is(d.Err, os.ErrNotExist) {
							t.Errorf("%s: %v", base, d.Err)
						}
					case base == "f7":
						if !errors.Is(d.Err, bad) {
							t.Errorf("%s: %v", base, d.Err)
						}
					case base == "f8":
						if d.Err != nil || d.Result.Strategy != header.Auto {
							t.Errorf("%s: %+v", base, d)
						}
					default:
						if d.Err != nil || d.Result.Strategy != header.Copy || d.Result.Promise != (durability.Promise{Level: level}) {
							t.Errorf("%s: %+v", base, d)
						}
						want := fmt.Sprintf("head of %s\ncontent %s\n", base, base[1:])
						holds(t, d.Name, []byte(want))
						if _, err := header.Insert(context.Background(), d.Name, []byte("again\n"), kill); err != nil {
							t.Error(err)
						}
					}
				}))
				if !errors.Is(err, bad) || !strings.Contains(err.Error(), "2 of 151 files failed") {
					t.Errorf("%v", err)
				}
				for i, r := range results { // in the order of the names
					if r.Name != asked[i] || (r.Err != nil) != (r.Name == missing || filepath.Base(r.Name) == "f7") {
						t.Errorf("%d: %+v, want %s", i, r, asked[i])
					}
				}
				slices.Sort(got)
				slices.Sort(asked)
				if !slices.Equal(got, asked) || len(results) != len(asked) {
					t.Errorf("%d results for %d names", len(got), len(asked))
				}
			})
		}
	}
}

// Neither one file under several names, nor a consumer that waits for the lock of a
// file that is about to be changed, blocks the others.
func TestInsertAllSameFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no lock is taken here")
	}
	dir, names := manyFiles(t, 4)
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(names[0], link))
	asked := []string{names[0], names[1], link, names[0], names[2], link}
	n := 0
	header.InsertAll(t.Context(), slices.Values(asked), headOf, reporting(header.AllOptions{Workers: 2}, func(d header.FileResult) {
		if d.Err != nil {
			t.Error(d.Err)
		}
		for _, name := range names {
			if _, err := header.Read(context.Background(), name, header.Options{}); err != nil && !errors.Is(err, header.ErrNoHeader) {
				t.Error(err)
			}
		}
		n++
	}))
	if n != len(asked) {
		t.Errorf("%d results", n)
	}
	b, err := os.ReadFile(names[0])
	must(t, err)
	if got := strings.Count(string(b), "head of "); got != 4 {
		t.Errorf("%d headers: %q", got, b)
	}
}

func TestSwapAll(t *testing.T) {
	_, names := manyFiles(t, 70)
	n := 0
	header.SwapAll(t.Context(), slices.Values(names), func(name string) (old, data []byte, err error) {
		return []byte("content"), []byte("CONTENT OF"), nil
	}, reporting(header.AllOptions{}, func(d header.FileResult) {
		if d.Err != nil {
			t.Error(d.Err)
		}
		holds(t, d.Name, []byte("CONTENT OF "+filepath.Base(d.Name)[1:]+"\n"))
		n++
	}))
	if n != len(names) {
		t.Errorf("%d results", n)
	}
}

// A caller that cancels or panics leaves no file half changed and no lock.
func TestInsertAllStops(t *testing.T) {
	for _, how := range []string{"cancel", "panic"} {
		t.Run(how, func(t *testing.T) {
			dir, names := manyFiles(t, 300)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			func() {
				defer func() {
					if r := recover(); (r != nil) != (how == "panic") {
						t.Errorf("recovered %v", r)
					}
				}()
				results, err := header.InsertAll(ctx, slices.Values(names), headOf, reporting(header.AllOptions{Workers: 2}, func(d header.FileResult) {
					if d.Err != nil {
						t.Error(d.Err)
					}
					n++
					if how == "panic" {
						panic(how)
					}
					cancel()
				}))
				if !errors.Is(err, context.Canceled) || len(results) != n {
					t.Errorf("%d results, %d told, %v", len(results), n, err)
				}
			}()
			for _, name := range names { // no lock is left
				_, err := header.Read(t.Context(), name, header.Options{})
				if err != nil && !errors.Is(err, header.ErrNoHeader) {
					t.Error(err)
				}
			}
			done := 0
			for i, name := range names {
				b, err := os.ReadFile(name)
				must(t, err)
				switch string(b) {
				case fmt.Sprintf("content %d\n", i):
				case fmt.Sprintf("head of f%d\ncontent %d\n", i, i):
					done++
				default:
					t.Errorf("%s holds %q", name, b)
				}
			}
			if done == 0 || done > 250 || how == "cancel" && done != n {
				t.Errorf("%d were done, %d told", done, n)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

func TestInsertAllOptions(t *testing.T) {
	_, names := manyFiles(t, 2)
	for field, o := range map[string]header.AllOptions{
		"Options.Mode: header.Mode(7); want ": {Options: header.Options{Mode: 7}},
		"Options.Level: none; want ":          {Options: header.Options{Level: durability.None}},
		"AllOptions.Workers: -1; want ":       {Workers: -1},
		"Options.LockWait: -1ns; want ":       {Options: header.Options{LockWait: -1}},
	} {
		results, err := header.InsertAll(t.Context(), slices.Values(names), headOf, o)
		if !errors.Is(err, os.ErrInvalid) || !strings.HasPrefix(err.Error(), "header: "+field) || results != nil {
			t.Errorf("%v, %v", results, err)
		}
	}
	holds(t, names[0], []byte("content 0\n"))
}

// Functions of the caller may use the files that are being changed, and names may
// depend on results: neither waits for a lock that is held for a group that is not
// full.
func TestInsertAllFeeds(t *testing.T) {
	_, names := manyFiles(t, 6)
	next := make(chan string, len(names))
	next <- names[0]
	feed := func(yield func(string) bool) {
		for range len(names) {
			if !yield(<-next) {
				return
			}
		}
	}
	n := 0
	header.InsertAll(t.Context(), feed, headOf, reporting(header.AllOptions{}, func(d header.FileResult) {
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		if n++; n < len(names) {
			next <- names[n]
		}
	}))
	if n != len(names) {
		t.Errorf("%d results", n)
	}
	if runtime.GOOS != "linux" {
		return // no lock is taken there, and several calls below change one file
	}
	n = 0
	header.InsertAll(t.Context(), slices.Values(names), func(string) ([]byte, error) {
		for _, name := range names {
			if _, err := header.Swap(context.Background(), name, nil, []byte("x"), kill); err != nil {
				return nil, err
			}
		}
		return []byte("y"), nil
	}, reporting(header.AllOptions{Workers: 3}, func(d header.FileResult) {
		if d.Err != nil {
			t.Error(d.Err)
		}
		n++
	}))
	if n != len(names) {
		t.Errorf("%d results", n)
	}
}

// names may end because ctx is done, as the doc asks: that does not count as the end
// of the files.
func TestInsertAllNamesEndWithContext(t *testing.T) {
	_, names := manyFiles(t, 3)
	for _, begun := range []int{0, 1, len(names)} {
		ctx, cancel := context.WithCancel(t.Context())
		results, err := header.InsertAll(ctx, func(yield func(string) bool) {
			for _, name := range names[:begun] {
				if !yield(name) {
					return
				}
			}
			cancel()
			<-ctx.Done()
		}, headOf, header.AllOptions{Options: kill, Workers: 1})
		if !errors.Is(err, context.Canceled) || len(results) > begun {
			t.Errorf("%d begun: %d results, %v", begun, len(results), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := header.InsertAll(ctx, slices.Values(names), headOf, header.AllOptions{Options: kill})
	cancel()
	must(t, err)
}

// Two names of one inode are two files after an atomic change of each.
func TestInsertAllHardLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a name of a file that another worker has open cannot be replaced here")
	}
	dir, names := manyFiles(t, 2)
	var asked []string
	for i := range 5 {
		link := filepath.Join(dir, fmt.Sprint("link", i))
		must(t, os.Link(names[0], link))
		asked = append(asked, link)
	}
	asked = append(asked, names...)
	header.InsertAll(t.Context(), slices.Values(asked), headOf, reporting(header.AllOptions{Workers: 2}, func(d header.FileResult) {
		if d.Err != nil {
			t.Error(d.Err)
		}
		holds(t, d.Name, fmt.Appendf(nil, "head of %s\ncontent %d\n", filepath.Base(d.Name), slices.Index(names[1:], d.Name)+1))
	}))
	// In place it stays one file, with all the headers.
	file := write(t, dir, []byte("content\n"))
	_, err := header.Reserve(context.Background(), file, 4096, header.Options{Pad: header.PadByte('\n')})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	must(t, err)
	asked = nil
	for i := range 5 {
		link := filepath.Join(dir, fmt.Sprint("again", i))
		must(t, os.Link(file, link))
		asked = append(asked, link)
	}
	o := header.AllOptions{Options: header.Options{Mode: header.InPlace}, Workers: 2}
	header.InsertAll(t.Context(), slices.Values(asked), headOf, reporting(o, func(d header.FileResult) {
		if d.Err != nil || runtime.GOOS == "linux" && d.Result.Strategy != header.Slot {
			t.Errorf("%+v", d)
		}
	}))
	b, err := os.ReadFile(file)
	must(t, err)
	if got := strings.Count(string(b), "head of again"); got != 5 {
		t.Errorf("%d headers", got)
	}
}
