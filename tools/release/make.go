package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	head, err := modules.Git(ctx, top, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	tags, err := commitAndTag(ctx, top, tmp, version, date, list)
	if err != nil {
		return errors.Join(err, undo(top, strings.TrimSpace(head), tags))
	}
	fmt.Fprintf(stdout, "Tagged:\n  %s\nTo publish: git push --atomic origin HEAD %s\nTo undo: git tag -d %s && git reset --hard HEAD~\n",
		strings.Join(tags, "\n  "), strings.Join(tags, " "), strings.Join(tags, " "))
	return nil
}

// commitAndTag returns the tags that it has made, also with an error.
func commitAndTag(ctx context.Context, top, tmp, version, date string, list []modules.Module) (tags []string, err error) {
	if err := writeRelease(ctx, top, filepath.Join(tmp, "proxy"), version, date, list); err != nil {
		return nil, err
	}
	if _, err := modules.Git(ctx, top, "add", "-A"); err != nil { // a go.sum may be new
		return nil, err
	}
	if _, err := modules.Git(ctx, top, "commit", "-q", "-m", "Release "+version); err != nil {
		return nil, err
	}
	for _, m := range list {
		if !m.Published() {
			continue
		}
		if _, err := modules.Git(ctx, top, "tag", "-a", m.Tag(version), "-m", "Release "+version); err != nil {
			return tags, err
		}
		tags = append(tags, m.Tag(version))
	}
	return tags, nil
}

// undo takes the tree back to head, which was clean, and removes tags. It does
// so after an interrupt too.
func undo(top, head string, tags []string) error {
	ctx := context.Background()
	var errs []error
	if len(tags) > 0 {
		_, err := modules.Git(ctx, top, append([]string{"tag", "-d"}, tags...)...)
		errs = append(errs, err)
	}
	_, err := modules.Git(ctx, top, "reset", "-q", "--hard", head)
	errs = append(errs, err)
	_, err = modules.Git(ctx, top, "clean", "-q", "-f", "--", "*go.sum")
	return errors.Join(append(errs, err)...)
}

// mayRelease checks what must be so before anything is changed.
func mayRelease(ctx context.Context, top, version, date string, list []modules.Module) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("version %q; want one like v0.2.0", version)
	}
	if semver.Major(version) != "v0" && semver.Major(version) != "v1" {
		return fmt.Errorf("version %s: from v2 on the paths of modules end in it; want v0 or v1", version)
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("-date %q; want one like 2026-11-22", date)
	}
	dirty, err := modules.Git(ctx, top, "status", "--porcelain")
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
func writeRelease(ctx context.Context, top, proxy, version, date string, list []modules.Module) error {
	if err := replaceInWork(filepath.Join(top, "go.work"), list, version); err != nil {
		return err
	}
	if err := dateChangelog(filepath.Join(top, "CHANGELOG.md"), version, date); err != nil {
		return err
	}
	if err := requireInPeers(filepath.Join(top, "peers", "go.mod"), list, version); err != nil {
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
		s, err := modules.Write(ctx, proxy, top, m, version)
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

// requireInPeers sets the version of what the peers, which are outside the
// workspace and replace it, require of list.
func requireInPeers(name string, list []modules.Module, version string) error {
	f, err := modules.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	require(f, list, version)
	return os.WriteFile(name, modfile.Format(f.Syntax), 0o666)
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
		if !m.Library() {
			continue
		}
		line := regexp.MustCompile(`(?m)^((?:replace)?\s*` + regexp.QuoteMeta(m.Path) + ` )v\S+( => )`)
		if !line.Match(data) {
			return fmt.Errorf("%s: no replace of a version of %s; want one until its releases can be fetched", name, m.Path)
		}
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
	if len(all) == 1 {
		if heading := string(data[all[0][0]:all[0][1]]); heading != "## Unreleased" && heading != "## "+version+" (unreleased)" {
			return fmt.Errorf("%s: the heading is %q; want that of %s", name, heading, version)
		}
	}
	if len(all) != 1 {
		return fmt.Errorf("%s: %d headings \"## Unreleased\" or \"## vX.Y.Z (unreleased)\"; want 1", name, len(all))
	}
	data = slices.Concat(data[:all[0][0]], []byte("## "+version+" ("+date+")"), data[all[0][1]:])
	return os.WriteFile(name, data, 0o666)
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
