package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/header/notice"
)

// If a directory of the tree becomes a symlink once its files are known, no file
// outside the tree is changed or shown.
func TestHeaderKeepsToItsTree(t *testing.T) {
	const head = "// Copyright 2026 ACME\n\n"
	for _, verb := range []notice.Action{notice.Insert, notice.Remove, notice.Check, "recover"} {
		for _, args := range [][]string{{"."}, {"../tree"}, {"d", "e"}, {"d/**/*.go", "e/e.go"}, {"../link"}} {
			for _, level := range []durability.Level{durability.Power, durability.Kill} {
				t.Run(strings.ReplaceAll(string(verb)+strings.Join(args, " "), "/", "|")+level.String(), func(t *testing.T) {
					t.Chdir(t.TempDir())
					content := "package a\n"
					if verb == notice.Remove {
						content = head + content
					}
					plant(t, map[string]string{"tree/d/in/a.go": content, "tree/e/e.go": content, "outside/in/a.go": content, "outside/a.go": content})
					abandon(t, "tree/d/in", "outside/in")
					for _, dir := range []string{"tree/d", "outside"} {
						if verb != "recover" {
							break
						}
						if err := unix.Setxattr(filepath.Join(dir, "in/a.go"), "user.stele.intent", []byte("x"), 0); err != nil {
							t.Skip("no extended attributes here: ", err)
						}
					}
					if err := os.Symlink("tree", "link"); err != nil {
						t.Fatal(err)
					}
					t.Chdir("tree")
					before := snapshotOf(t, "../outside")

					var s fileChoice
					files, err := s.collect(t.Context(), args)
					if err != nil {
						t.Fatal(err)
					}
					within, err := confine(slices.Concat(files, s.entered))
					if err != nil {
						t.Fatal(err)
					}
					defer within.close()
					if err := errors.Join(os.Rename("d", "../d"), os.Symlink("../outside", "d")); err != nil {
						t.Fatal(err)
					}
					shown := "d/in/a.go"
					if strings.HasPrefix(args[0], "..") {
						shown = args[0] + "/" + shown
					}
					var said bytes.Buffer
					if verb == "recover" {
						r := recovery{stdout: &said, stderr: &said, swept: map[string]bool{}}
						for _, f := range files {
							r.file(t.Context(), f, within, false)
						}
						r.sweep(t.Context(), s.entered, within)
					} else {
						editor, err := notice.New(notice.Options{Action: verb, Text: "Copyright 2026 ACME", Year: "2026"})
						if err != nil {
							t.Fatal(err)
						}
						run := headerRun{editor: editor, within: within, write: verb != notice.Check, diff: true, tell: func(int, int, string) {},
							options: header.AllOptions{Options: header.Options{Level: level}}}
						for _, o := range run.run(t.Context(), files) {
							said.WriteString(o.Path + " " + o.Error + o.Diff + "\n")
							switch want := map[notice.Action]notice.State{notice.Insert: notice.Inserted, notice.Remove: notice.Removed, notice.Check: notice.Missing}[verb]; {
							case strings.HasSuffix(o.Path, "e/e.go") && o.State != want:
								t.Errorf("%+v", o)
							case o.Path == shown && (o.State != stateFailed || !strings.Contains(o.Error, " "+shown+": ")):
								t.Errorf("%+v", o)
							}
						}
					}
					if !strings.Contains(said.String(), shown+": too many levels of symbolic links") {
						t.Errorf("says %s", said.String())
					}
					if after := snapshotOf(t, "../outside"); !slices.Equal(before, after) {
						t.Errorf("outside became\n%q, was\n%q", after, before)
					}
				})
			}
		}
	}
}

// snapshotOf returns the names and contents below a directory.
func snapshotOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*", "*/*", "*/.*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, _ := os.ReadFile(name)
			all = append(all, name+"\n"+string(b))
		}
	}
	slices.Sort(all)
	return all
}

// Files of several directories are found below one root, by any form of their
// PATHs.
func TestConfine(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"a/b/x.go": "", "a/c/y.go": "", "z.go": "", "ab/w.go": ""})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"to-b": "a/b", "a/up": ".."} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ paths, below string }{
		{"a", "b/x.go c/y.go"},
		{"a/b a/c", "b/x.go c/y.go"},
		{"a ab", "a/b/x.go a/c/y.go ab/w.go"},
		{"to-b a/c z.go", "a/c/y.go a/b/x.go z.go"},
		{"to-b a/c", "c/y.go b/x.go"},
		{"a/up/ab a/b", "a/b/x.go ab/w.go"},
		{here + "/a/b a/c", "b/x.go c/y.go"},
		{"a/b a/b/x.go", "x.go"},
		{"a/b ../" + filepath.Base(here) + "/z.go", "z.go a/b/x.go"},
		{"/proc/self/cwd/a/b", "x.go"},
	} {
		s := fileChoice{skipDirs: []string{"up"}, includes: []string{"*.go"}}
		files, err := s.collect(t.Context(), strings.Fields(c.paths))
		if err != nil {
			t.Fatal(err)
		}
		files = slices.DeleteFunc(files, func(f entry) bool { return f.reason != "" })
		within, err := confine(files)
		if err != nil {
			t.Errorf("%s: %v", c.paths, err)
			continue
		}
		var below []string
		for _, f := range files {
			below = append(below, within.below(f.path))
			if got, err := within.open(f.path); err != nil {
				t.Error(err)
			} else {
				got.Close()
			}
		}
		if strings.Join(below, " ") != c.below {
			t.Errorf("%s: %q, want %s", c.paths, below, c.below)
		}
		within.close()
	}
}
