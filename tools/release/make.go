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

// makeRelease makes the commit and the tags of version, once nothing speaks
// against it.
func makeRelease(ctx context.Context, top, tmp, version, date string, stdout io.Writer) error {
	list, err := modules.Load(top)
	if err != nil {
		return err
	}
	if date == "" {
		date = time.Now().Format(time.DateOnly)
	}
	if err := mayRelease(ctx, top, tmp, version, date, list, stdout); err != nil {
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

// undo resets the tree to head and removes tags, also after an interrupt.
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

// mayRelease returns an error unless version can be released. It changes nothing.
func mayRelease(ctx context.Context, top, tmp, version, date string, list []modules.Module, stdout io.Writer) error {
	if err := checkVersion(version, date); err != nil {
		return err
	}
	if err := checkTree(ctx, top); err != nil {
		return err
	}
	if _, err := datedChangelog(filepath.Join(top, "CHANGELOG.md"), version, date); err != nil {
		return err
	}
	if err := checkTags(ctx, top); err != nil {
		return err
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
	if err := tidy(ctx, top, filepath.Join(tmp, "tidy"), true, stdout); err != nil {
		return err
	}
	return mixed(ctx, top, filepath.Join(tmp, "mixed"), stdout)
}

func checkVersion(version, date string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("version %q; want one like v0.2.0", version)
	}
	if semver.Major(version) != "v0" && semver.Major(version) != "v1" {
		return fmt.Errorf("version %s: from v2 on the paths of modules end in it; want v0 or v1", version)
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("-date %q; want one like 2026-11-22", date)
	}
	return nil
}

// checkTree returns an error unless the tree is clean and on branch main.
func checkTree(ctx context.Context, top string) error {
	dirty, err := modules.Git(ctx, top, "status", "--porcelain")
	if err != nil {
		return err
	}
	if dirty != "" {
		return fmt.Errorf("the tree has changes that are not committed; commit or stash them:\n%s", dirty)
	}
	branch, err := modules.Git(ctx, top, "branch", "--show-current")
	if err != nil {
		return err
	}
	if branch = strings.TrimSpace(branch); branch != "main" {
		return fmt.Errorf("branch %q; want main", branch)
	}
	return nil
}

// writeRelease changes the files that name the version. It changes those in a
// module's zip before it sums the zip.
func writeRelease(ctx context.Context, top, proxy, version, date string, list []modules.Module) error {
	if err := replaceInWork(filepath.Join(top, "go.work"), list, version); err != nil {
		return err
	}
	name := filepath.Join(top, "CHANGELOG.md")
	text, err := datedChangelog(name, version, date)
	if err == nil {
		err = os.WriteFile(name, text, 0o666)
	}
	if err != nil {
		return err
	}
	if err := requireInPeers(filepath.Join(top, "peers", "go.mod"), list, version); err != nil {
		return err
	}
	var sums []string
	for _, m := range list { // each after the modules whose sums it needs
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

// require sets the version of the modules of list that f requires.
func require(f *modfile.File, list []modules.Module, version string) {
	for _, r := range f.Require {
		if slices.ContainsFunc(list, func(m modules.Module) bool { return m.Path == r.Mod.Path }) {
			r.Mod.Version = version
		}
	}
	f.SetRequire(slices.Clone(f.Require))
}

// requireInPeers sets the version of the modules of list that the peers require:
// they are outside the workspace.
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

// writeSums adds to a go.sum those of sums that are of modules that m requires.
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

// datedChangelog returns the changelog with the version and the date in the
// heading of the unreleased changes.
func datedChangelog(name, version, date string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	all := unreleased.FindAllIndex(data, -1)
	if len(all) != 1 {
		return nil, fmt.Errorf("%s: %d headings \"## Unreleased\" or \"## vX.Y.Z (unreleased)\"; want 1", name, len(all))
	}
	before, heading, after := data[:all[0][0]], string(data[all[0][0]:all[0][1]]), data[all[0][1]:]
	if heading != "## Unreleased" && heading != "## "+version+" (unreleased)" {
		return nil, fmt.Errorf("%s: heading %q; want that of %s", name, heading, version)
	}
	return slices.Concat(before, []byte("## "+version+" ("+date+")"), after), nil
}

// command runs a command, with env beside this process's environment. The error
// has its output.
func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
