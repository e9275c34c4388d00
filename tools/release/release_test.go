package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/tools/internal/modules"
)

// A tree is a repository of a root module, a library lib that uses the root's
// internal package, and an unpublished module tools, for releases to be made of.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) tree {
	t.Helper()
	for _, name := range []string{"git", "go", "tar"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) // no signing, no hooks
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "another")) // as below a hook of git
	r := tree{t, t.TempDir()}
	r.write(".gitignore", "report.html\n")
	r.write("peers/go.mod", "module example.com/a/peers\n\ngo 1.26.0\n\nreplace example.com/a/lib => ../lib\n\nrequire example.com/a/lib v0.1.0\n")
	r.write("LICENSE", "free\n")
	r.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- All of it.\n")
	r.write("go.work", "go 1.26.0\n\nuse (\n\t.\n\t./lib\n\t./tools\n)\n\nreplace (\n\texample.com/a v0.1.0 => .\n\texample.com/a/lib v0.1.0 => ./lib\n)\n")
	r.write("go.mod", "module example.com/a\n\ngo 1.26.0\n")
	r.write("a.go", "package a\n")
	r.write("internal/in/in.go", "package in\n\nfunc In() {}\n")
	r.write("lib/go.mod", "module example.com/a/lib\n\ngo 1.26.0\n\nrequire example.com/a v0.1.0\n")
	r.write("lib/lib.go", "package lib\n\nimport \"example.com/a/internal/in\"\n\nfunc Lib() { in.In() }\n")
	r.write("tools/go.mod", "module example.com/a/tools\n\ngo 1.26.0\n\nrequire example.com/a/lib v0.1.0\n\nrequire example.com/a v0.1.0 // indirect\n")
	r.write("tools/tools.go", "package tools\n\nimport _ \"example.com/a/lib\"\n")
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "A. Developer")
	r.git("config", "user.email", "developer@example.com")
	r.commit()
	return r
}

func (r tree) write(name, text string) {
	r.t.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

func (r tree) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func (r tree) git(args ...string) string {
	r.t.Helper()
	out, err := modules.Git(r.t.Context(), r.dir, args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r tree) commit() {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "A change")
}

// release runs the command and returns what it wrote.
func (r tree) release(code int, args ...string) string {
	r.t.Helper()
	var out bytes.Buffer
	if got := run(r.t.Context(), r.dir, args, &out, &out); got != code {
		r.t.Fatalf("release %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, &out)
	}
	return out.String()
}

func TestRelease(t *testing.T) {
	r := newTree(t)
	if out := r.release(0, "mixed"); !strings.Contains(out, "nothing to mix") {
		t.Errorf("mixed without a release: %s", out)
	}
	r.release(0, "tidy", "-diff")
	r.write("lib/report.html", "a file that git ignores is in no release")
	out := r.release(0, "make", "-date", "2026-11-22", "v0.2.0")
	if !strings.Contains(out, "git push --atomic origin HEAD v0.2.0 lib/v0.2.0") {
		t.Errorf("make: %s", out)
	}
	if tags := strings.Fields(r.git("tag", "--points-at", "HEAD")); strings.Join(tags, " ") != "lib/v0.2.0 v0.2.0" {
		t.Errorf("tags of the release: %q", tags)
	}
	for name, want := range map[string]string{
		"CHANGELOG.md": "## v0.2.0 (2026-11-22)\n",
		"lib/go.mod":   "require example.com/a v0.2.0\n",
		"tools/go.mod": "example.com/a v0.2.0 // indirect\n",
		"peers/go.mod": "require example.com/a/lib v0.2.0\n",
		"go.work":      "example.com/a/lib v0.2.0 => ./lib\n",
	} {
		if got := r.read(name); !strings.Contains(got, want) {
			t.Errorf("%s has no %q:\n%s", name, want, got)
		}
	}
	r.release(0, "tidy", "-diff")
	if out := r.git("status", "--porcelain"); out != "" {
		t.Errorf("left over: %s", out)
	}
	r.checkSums()

	r.write("internal/in/in.go", "package in\n\nfunc In(int) {}\n")
	r.write("lib/lib.go", "package lib\n\nimport \"example.com/a/internal/in\"\n\nfunc Lib() { in.In(0) }\n")
	r.commit()
	if out := r.release(1, "mixed"); !strings.Contains(out, "example.com/a/lib v0.2.0 does not build with the other modules of this tree") {
		t.Errorf("mixed with a changed internal function: %s", out)
	}
	r.git("revert", "--no-edit", "HEAD")
	r.write("go.mod", "module example.com/a\n\ngo 1.26.1\n") // newer than the released lib's
	if out := r.release(0, "mixed"); !strings.Contains(out, "example.com/a/lib v0.2.0: builds") {
		t.Errorf("mixed: %s", out)
	}
}

// checkSums lets cmd/go itself compare go.sum with the released modules.
func (r tree) checkSums() {
	r.t.Helper()
	list, err := modules.Load(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	tools, err := modules.NewToolchain(r.t.Context(), r.t.TempDir())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range list {
		if m.Published() {
			if _, err := modules.Write(r.t.Context(), tools.Proxy, r.dir, m, "v0.2.0"); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if _, err := tools.Run(r.t.Context(), filepath.Join(r.dir, "lib"), "build", "-mod=readonly", "./..."); err != nil {
		r.t.Errorf("the release's go.sum: %v", err)
	}
	r.write("lib/go.sum", strings.Replace(r.read("lib/go.sum"), "h1:", "h1:A", 1))
	if _, err := tools.Run(r.t.Context(), filepath.Join(r.dir, "lib"), "build", "-mod=readonly", "./..."); err == nil {
		r.t.Error("a wrong go.sum passes")
	}
	r.git("checkout", "-q", "lib/go.sum")
}

func TestReleaseRefuses(t *testing.T) {
	r := newTree(t)
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{2, "", "no subcommand"},
		{2, "help", `no subcommand "help"`},
		{2, "make", "make: 0 arguments; want 1"},
		{2, "tidy -x", "flag provided but not defined"},
		{1, "make 0.2.0", `version "0.2.0"; want one like v0.2.0`},
		{1, "make v2.0.0", "want v0 or v1"},
		{1, "make x", `version "x"; want one like v0.2.0`},
		{1, "make -date today v0.2.0", `-date "today"; want one like`},
	} {
		if out := r.release(c.code, strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("release %s: %s\nwant %s", c.args, out, c.want)
		}
	}
	r.write("a.go", "package a // changed\n")
	if out := r.release(1, "make", "v0.2.0"); !strings.Contains(out, "not committed") || !strings.Contains(out, "a.go") {
		t.Errorf("make in a changed tree: %s", out)
	}
	r.commit()
	r.git("switch", "-q", "-c", "fix")
	r.refuses("v0.2.0", `branch "fix"; want main`)
	r.git("switch", "-q", "--detach")
	r.refuses("v0.2.0", `branch ""; want main`)
	r.git("switch", "-q", "main")
	r.release(0, "make", "v0.2.0")
	r.refuses("v0.3.0", "CHANGELOG.md: 0 headings")
	r.write("CHANGELOG.md", "# Changelog\n\n## v0.4.0 (unreleased)\n\n- More.\n")
	r.commit()
	r.refuses("v0.3.0", `heading "## v0.4.0 (unreleased)"; want that of v0.3.0`)
	r.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- More.\n")
	r.commit()
	r.refuses("v0.2.0", "has v0.2.0 already; want a higher one")
	r.write("lib/lib.go", "package lib\n")
	r.commit()
	r.refuses("v0.3.0", "not tidy")
	r.write("internal/in/in.go", "package in\n\nfunc In(int) {}\n")
	r.write("lib/lib.go", "package lib\n\nimport \"example.com/a/internal/in\"\n\nfunc Lib() { in.In(0) }\n")
	r.commit()
	r.refuses("v0.3.0", "example.com/a/lib v0.2.0 does not build with the other modules")
}

// refuses checks that make fails and changes nothing.
func (r tree) refuses(version, want string) {
	r.t.Helper()
	head, tags := r.git("rev-parse", "HEAD"), r.git("tag")
	if out := r.release(1, "make", version); !strings.Contains(out, want) {
		r.t.Errorf("make %s: %s\nwant %s", version, out, want)
	}
	if r.git("rev-parse", "HEAD") != head || r.git("tag") != tags || r.git("status", "--porcelain") != "" {
		r.t.Errorf("make %s was refused, and changed the tree:\n%s%s", version, r.git("log", "--oneline"), r.git("status", "--porcelain"))
	}
}

// A release that was made elsewhere, of which the tags were not fetched, is
// noticed.
func TestTagsOfOrigin(t *testing.T) {
	r := newTree(t)
	origin := t.TempDir()
	r.git("init", "-q", "--bare", origin)
	r.git("remote", "add", "origin", origin)
	r.release(0, "make", "v0.2.0")
	r.git("push", "-q", "origin", "main", "v0.2.0", "lib/v0.2.0")
	r.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- More.\n")
	r.commit()
	r.release(0, "mixed")
	r.git("tag", "-d", "lib/v0.2.0")
	const want = "origin has tags that this clone lacks or has for another commit: lib/v0.2.0; want git fetch --tags origin"
	r.refuses("v0.3.0", want)
	if out := r.release(1, "mixed"); !strings.Contains(out, want) {
		t.Errorf("mixed without a tag of origin: %s", out)
	}
	r.git("tag", "-a", "-m", "another commit", "lib/v0.2.0")
	r.refuses("v0.3.0", want)
	r.git("fetch", "-q", "--tags", "--force", "origin")
	r.git("remote", "set-url", "origin", origin+"-moved")
	r.refuses("v0.3.0", "origin did not answer")
	if out := r.release(0, "mixed"); !strings.Contains(out, "NOT CHECKED") || !strings.Contains(out, "example.com/a/lib v0.2.0: builds") {
		t.Errorf("mixed with an origin that does not answer: %s", out)
	}
	r.git("remote", "set-url", "origin", origin)
	r.release(0, "make", "v0.3.0")
}

// A go.mod that requires too low a version of another module fails, although a
// higher one makes the workspace build.
func TestLowest(t *testing.T) {
	r := newTree(t)
	if out := r.release(0, "lowest"); !strings.Contains(out, "example.com/a/lib: passes") || strings.Contains(out, "example.com/a/tools") {
		t.Errorf("lowest: %s", out)
	}
	proxy := t.TempDir()
	t.Setenv("GOPROXY", "file://"+proxy)
	other := modules.Module{Path: "example.org/other", Dir: "."}
	sums := map[string]string{}
	for version, text := range map[string]string{"v1.0.0": "package other\n", "v1.1.0": "package other\n\nfunc New() {}\n"} {
		dir := tree{t, t.TempDir()}
		dir.write("LICENSE", "free\n")
		dir.write("go.mod", "module example.org/other\n\ngo 1.26.0\n")
		dir.write("other.go", text)
		s, err := modules.Write(t.Context(), proxy, dir.dir, other, version)
		if err != nil {
			t.Fatal(err)
		}
		sums[version] = strings.Join(s.Lines(other.Path, version), "")
	}
	r.write("lib/lib_test.go", "package lib\n\nimport (\n\t\"testing\"\n\n\t\"example.org/other\"\n)\n\nfunc TestLib(t *testing.T) { other.New(); t.Fatal(\"run\") }\n")
	for _, c := range []struct {
		version string
		code    int
		args    []string
		want    string
	}{
		{"v1.0.0", 1, []string{"lowest"}, "undefined: other.New"},
		{"v1.1.0", 0, []string{"lowest"}, "example.com/a/lib: passes"},
		{"v1.1.0", 1, []string{"lowest", "-test"}, "--- FAIL: TestLib"},
	} {
		r.write("lib/go.mod", "module example.com/a/lib\n\ngo 1.26.0\n\nrequire (\n\texample.com/a v0.1.0\n\texample.org/other "+c.version+"\n)\n")
		r.write("lib/go.sum", sums[c.version])
		if out := r.release(c.code, c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%v with %s: %s\nwant %s", c.args, c.version, out, c.want)
		}
	}
}

// A release that fails midway leaves the tree and the tags as they were.
func TestReleaseUndone(t *testing.T) {
	r := newTree(t)
	r.git("tag", "-m", "in the way", "lib/v0.1.0-x")
	r.write(".git/refs/tags/lib/v0.2.0/x", "") // lib/v0.2.0 cannot be made
	before := r.git("rev-parse", "HEAD")
	if out := r.release(1, "make", "v0.2.0"); !strings.Contains(out, "lib/v0.2.0") {
		t.Errorf("make: %s", out)
	}
	if r.git("rev-parse", "HEAD") != before || r.git("status", "--porcelain") != "" || strings.Contains(r.git("tag"), "v0.2.0") {
		t.Errorf("left: %s%s%s", r.git("log", "--oneline"), r.git("status", "--porcelain"), r.git("tag"))
	}
}

func TestTidy(t *testing.T) {
	r := newTree(t)
	r.write("lib/lib.go", "package lib\n")
	if out := r.release(1, "tidy", "-diff"); !strings.Contains(out, "-require example.com/a v0.1.0") {
		t.Errorf("tidy -diff with a requirement too many: %s", out)
	}
	if !strings.Contains(r.read("lib/go.mod"), "require") {
		t.Error("tidy -diff has changed go.mod")
	}
	r.release(0, "tidy")
	if got := r.read("lib/go.mod"); strings.Contains(got, "require") {
		t.Errorf("tidy leaves %s", got)
	}
	r.release(0, "tidy", "-diff")
}

func TestCircle(t *testing.T) {
	r := newTree(t)
	r.write("go.mod", "module example.com/a\n\ngo 1.26.0\n\nrequire example.com/a/lib v0.1.0\n")
	_, err := modules.Load(r.dir)
	if err == nil || !strings.Contains(err.Error(), "in a circle: example.com/a -> example.com/a/lib -> example.com/a") {
		t.Errorf("modules that require each other: %v", err)
	}
	if _, err := modules.Top(string(filepath.Separator)); err == nil {
		t.Error("Top of / finds a workspace")
	}
}

func TestInterrupted(t *testing.T) {
	r := newTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, r.dir, []string{"tidy"}, os.Stderr, os.Stderr); code == 0 {
		t.Error("tidy with a cancelled context succeeds")
	}
	if out := r.git("status", "--porcelain"); out != "" {
		t.Errorf("left over: %s", out)
	}
}
