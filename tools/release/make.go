package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/tools/internal/modules"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// makeRelease makes the commit and the tags of version.
func makeRelease(ctx context.Context, top, tmp, version, date string, stdout io.Writer) error {
	list, err := modules.Load(top)
	if err != nil {
		return err
	}
	if date == "" {
		date = time.Now().Format(time.DateOnly)
	}
	if err := mayRelease(ctx, top, version, date, list); err != nil {
		return err
	}
	if err := writeRelease(top, filepath.Join(tmp, "proxy"), version, date, list); err != nil {
		return err
	}
	if _, err := git(ctx, top, "add", "-A"); err != nil { // a go.sum may be new
		return err
	}
	if _, err := git(ctx, top, "commit", "-q", "-m", "Release "+version); err != nil {
		return err
	}
	var tags []string
	for _, m := range list {
		if m.Published() {
			tags = append(tags, m.Tag(version))
		}
	}
	for _, tag := range tags {
		if _, err := git(ctx, top, "tag", "-a", tag, "-m", "Release "+version); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "Tagged:\n  %s\nTo publish: git push --atomic origin HEAD %s\nTo undo: git tag -d %s && git reset --hard HEAD~\n",
		strings.Join(tags, "\n  "), strings.Join(tags, " "), strings.Join(tags, " "))
	return nil
}

// mayRelease checks what must be so before anything is changed.
func mayRelease(ctx context.Context, top, version, date string, list []modules.Module) error {
	if semver.Canonical(version) != version {
		return fmt.Errorf("version %q; want one like v0.2.0", version)
	}
	if semver.Major(version) != "v0" && semver.Major(version) != "v1" {
		return fmt.Errorf("version %s: from v2 on the paths of modules end in it; want v0 or v1", version)
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("-date %q; want one like 2026-11-22", date)
	}
	dirty, err := git(ctx, top, "status", "--porcelain")
	if err != nil {
		return err
	}
	if dirty != "" {
		return fmt.Errorf("the tree has changes that are not committed; commit or stash them:\n%s", dirty)
	}
	for _, m := range list {
		last, err := lastRelease(ctx, top, m)
		if err != nil {
			return err
		}
		if last != "" && semver.Compare(version, last) <= 0 {
			return fmt.Errorf("version %s: %s has %s already; want a higher one", version, m.Path, last)
		}
	}
	return nil
}

// writeRelease changes the files that name the version. Those that are in a
// module's zip are changed before it is summed.
func writeRelease(top, proxy, version, date string, list []modules.Module) error {
	if err := replaceInWork(filepath.Join(top, "go.work"), list, version); err != nil {
		return err
	}
	if err := dateChangelog(filepath.Join(top, "CHANGELOG.md"), version, date); err != nil {
		return err
	}
	var sums []string
	for _, m := range list { // each behind those whose sums it needs
		require(m.File, list, version)
		if err := os.WriteFile(filepath.Join(top, m.Dir, "go.mod"), modfile.Format(m.File.Syntax), 0o666); err != nil {
			return err
		}
		if err := writeSums(filepath.Join(top, m.Dir, "go.sum"), m, list, sums); err != nil {
			return err
		}
		if !m.Published() {
			continue
		}
		s, err := modules.Write(proxy, top, m, version)
		if err != nil {
			return err
		}
		sums = append(sums, s.Lines(m.Path, version)...)
	}
	return nil
}

// require sets the version of what f requires of list.
func require(f *modfile.File, list []modules.Module, version string) {
	for _, r := range f.Require {
		if slices.ContainsFunc(list, func(m modules.Module) bool { return m.Path == r.Mod.Path }) {
			r.Mod.Version = version
		}
	}
	f.SetRequire(slices.Clone(f.Require))
}

// writeSums adds the sums of the modules of ours that m requires.
func writeSums(name string, m modules.Module, list []modules.Module, sums []string) error {
	lines, err := modules.ReadSum(name, list)
	if err != nil {
		return err
	}
	for _, r := range m.Requires(list) {
		for _, line := range sums {
			if strings.HasPrefix(line, r.Path+" ") {
				lines = append(lines, line)
			}
		}
	}
	return modules.WriteSum(name, lines)
}

// replaceInWork points the workspace's replacements at the new version.
func replaceInWork(name string, list []modules.Module, version string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for _, m := range list {
		line := regexp.MustCompile(`(?m)^((?:replace)?\s*` + regexp.QuoteMeta(m.Path) + ` )v\S+( => )`)
		data = line.ReplaceAll(data, []byte("${1}"+version+"${2}"))
	}
	return os.WriteFile(name, data, 0o666)
}

var unreleased = regexp.MustCompile(`(?m)^## (Unreleased|v\S+ \(unreleased\))$`)

// dateChangelog gives the heading of what is not released yet its version and
// date.
func dateChangelog(name, version, date string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	all := unreleased.FindAllIndex(data, -1)
	if len(all) != 1 {
		return fmt.Errorf("%s: %d headings \"## Unreleased\" or \"## vX.Y.Z (unreleased)\"; want 1", name, len(all))
	}
	data = slices.Concat(data[:all[0][0]], []byte("## "+version+" ("+date+")"), data[all[0][1]:])
	return os.WriteFile(name, data, 0o666)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out), nil
}

// command runs a command, with env beside this process's environment. What it
// wrote is in the error.
func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
