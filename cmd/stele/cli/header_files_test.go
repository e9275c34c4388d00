package cli

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestCollect(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{
		"a.go": "", "b.c": "", "[x].go": "", "src/a.go": "", "src/a_test.go": "", "src/deep/a.go": "", "src/testdata/a.go": "",
		"vendor/a.go": "", ".git/config": "", "src/node_modules/a.js": "",
	})
	if runtime.GOOS != "windows" {
		for link, to := range map[string]string{"link.go": "a.go", "src/away": "../..", "dirlink": "src/deep"} {
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		paths, include, exclude, skip string
		want                          string
	}{
		{".", "*.go", "", "", "[x].go a.go link.go src/a.go src/a_test.go src/deep/a.go src/testdata/a.go"},
		{".", "*.go", "*_test.go testdata", "", "[x].go a.go link.go src/a.go src/deep/a.go"},
		{"src", "", "src/deep", "", "src/a.go src/a_test.go src/away src/testdata/a.go"},
		{"src", "", "deep/** away", "", "src/a.go src/a_test.go src/testdata/a.go"},
		{"src a.go ./a.go src/a.go", "a.go", "", "", "a.go src/a.go src/deep/a.go src/testdata/a.go"},
		{"vendor", "", "", "", "vendor/a.go"},
		{".", "vendor", "", "none", "vendor/a.go"},
		{"*.go", "", "link.go", "", "[x].go a.go"},
		{"./src/**/*.go", "", "", "", "src/a.go src/a_test.go src/deep/a.go src/testdata/a.go"},
		{"[x].go", "", "", "", "[x].go"},
		{"{a,b}.{go,c}", "", "", "", "a.go b.c"},
		{"dirlink", "", "", "", "dirlink/a.go"},
	} {
		if runtime.GOOS == "windows" && strings.Contains(c.want, "link") {
			continue
		}
		s := fileChoice{includes: strings.Fields(c.include), excludes: strings.Fields(c.exclude), skipDirs: strings.Fields(c.skip)}
		if c.skip == "" {
			s.skipDirs = []string{".git", "vendor", "node_modules"}
		}
		all, err := s.collect(t.Context(), strings.Fields(c.paths))
		var got []string
		for _, f := range all {
			got = append(got, filepath.ToSlash(f.path))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

func TestLinksAreLeftAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"a.go": "package a\n", "far/b.go": "package b\n", "src/c.go": "package c\n"})
	for link, to := range map[string]string{"link.go": "a.go", "src/far": "../far", "src/gone.go": "nowhere"} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	code, out, diag := stele(t, call("insert", "link.go", "src", "-v")...)
	if code != exitOK || strings.Count(out, "symbolic link)") != 4 {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	got := snapshot(t)
	if got["a.go"] != "package a\n" || got["far/b.go"] != "package b\n" || got["src/c.go"] == "package c\n" {
		t.Errorf("%s", legible(got))
	}
}

func TestGitTracksWhatIsMeant(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git:", err)
	}
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"in.go": "package a\n", "d/in.go": "package a\n", "d/out.go": "package a\n", "d/gone.go": "package a\n", "vendor/in.go": "package a\n"})
	for _, args := range [][]string{{"init", "-q"}, {"add", "in.go", "d/in.go", "d/gone.go", "vendor"}} {
		if out, err := exec.Command(git, args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.Remove("d/gone.go"); err != nil {
		t.Fatal(err)
	}
	if code, _, diag := stele(t, call("insert", "--git", ".")...); code != exitOK {
		t.Fatal(diag)
	}
	for name, content := range snapshot(t) {
		if got, want := content != "package a\n", name == "in.go" || name == "d/in.go"; got != want {
			t.Errorf("%s got a header: %v, want %v", name, got, want)
		}
	}
	if _, out, _ := stele(t, "header", "check", "--git", "d"); !strings.Contains(out, "1 file: 1 with") {
		t.Errorf("check of a directory in it: %s", out)
	}
}

func TestStylesListsAll(t *testing.T) {
	code, out, _ := stele(t, "header", "styles")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"//", ".go", "go.mod", "#", "Makefile", "Dockerfile.*", "<!--", ".svg", "{{-"} {
		if !slices.Contains(strings.Fields(out), want) {
			t.Errorf("%s is not listed:\n%s", want, out)
		}
	}
}

// The files do not depend on the order of the paths.
func TestCollectOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	plant(t, map[string]string{"d/a.go": "", "d/b.go": ""})
	seen := map[string]int{}
	var s fileChoice
	all, err := s.collect(t.Context(), []string{"d/b.go", "d", "d/*.go", "./d/../d"})
	for _, f := range all {
		seen[filepath.ToSlash(f.path)]++
	}
	if err != nil || !maps.Equal(seen, map[string]int{"d/a.go": 1, "d/b.go": 1}) {
		t.Errorf("%v, %v", seen, err)
	}
}
