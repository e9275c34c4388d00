package main

import (
	"context"
	"errors"
	"fmt"
	gover "go/version"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/tools/internal/modules"
	"golang.org/x/mod/semver"
)

// mixed builds the last release of each library, tests included, against the
// other modules as they are in the tree: a program that updates one of them
// gets that mixture by minimal version selection.
func mixed(ctx context.Context, top, tmp string, stdout io.Writer) error {
	switch err := checkTags(ctx, top); {
	case errors.Is(err, errNotAsked):
		fmt.Fprintf(stdout, "NOT CHECKED: a release of which the tag is not here: %v\n", err)
	case err != nil:
		return err
	}
	list, err := modules.Load(top)
	if err != nil {
		return err
	}
	released := 0
	for i, m := range list {
		if !m.Library() || len(m.Requires(list)) == 0 {
			continue
		}
		version, err := lastRelease(ctx, top, m)
		if err != nil {
			return err
		}
		if version == "" {
			fmt.Fprintf(stdout, "%s: not released yet\n", m.Path)
			continue
		}
		released++
		if err := buildMixed(ctx, top, filepath.Join(tmp, fmt.Sprint(i)), m, list, version); err != nil {
			return fmt.Errorf("%s %s does not build with the other modules of this tree; keep the internal functions that it uses, or export them: %w", m.Path, version, err)
		}
		fmt.Fprintf(stdout, "%s %s: builds with the other modules of this tree\n", m.Path, version)
	}
	if released == 0 {
		fmt.Fprintln(stdout, "nothing to mix: no library has a release")
	}
	return nil
}

// lastRelease returns the highest version of m that has a tag in this clone, or
// "". See checkTags.
func lastRelease(ctx context.Context, top string, m modules.Module) (string, error) {
	out, err := modules.Git(ctx, top, "tag", "--list", m.Tag("v*"))
	if err != nil {
		return "", err
	}
	last := ""
	for tag := range strings.FieldsSeq(out) {
		if v := strings.TrimPrefix(tag, m.Tag("")); semver.IsValid(v) && semver.Compare(v, last) > 0 {
			last = v
		}
	}
	return last, nil
}

// buildMixed makes a workspace in dir of the released m and the tree's modules
// that it requires, and vets m, tests included.
func buildMixed(ctx context.Context, top, dir string, m modules.Module, list []modules.Module, version string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	archive := filepath.Join(dir, "archive.tar")
	if _, err := modules.Git(ctx, top, "archive", "--format=tar", "-o", archive, m.Tag(version), m.Dir); err != nil {
		return err
	}
	if err := command(ctx, dir, nil, "tar", "-xf", archive); err != nil {
		return err
	}
	f, err := modules.ReadFile(filepath.Join(dir, m.Dir, "go.mod"))
	if err != nil {
		return err
	}
	m.File = f
	goVersion := f.Go.Version
	for _, r := range closure(m, list) {
		if gover.Compare("go"+r.File.Go.Version, "go"+goVersion) > 0 {
			goVersion = r.File.Go.Version
		}
	}
	work := "go " + goVersion + "\n\nuse ./" + m.Dir + "\n"
	for _, r := range closure(m, list) {
		work += fmt.Sprintf("use %q\n", filepath.Join(top, r.Dir))
		for _, v := range []string{version, modules.Version(list)} {
			if !strings.Contains(work, "replace "+r.Path+" "+v+" ") {
				work += fmt.Sprintf("replace %s %s => %q\n", r.Path, v, filepath.Join(top, r.Dir))
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.work"), []byte(work), 0o666); err != nil {
		return err
	}
	return command(ctx, dir, []string{"GOWORK=" + filepath.Join(dir, "go.work"), "GOFLAGS="}, "go", "vet", "./"+m.Dir+"/...")
}

// closure returns the modules of list that m requires, directly or not.
func closure(m modules.Module, list []modules.Module) (all []modules.Module) {
	seen := map[string]bool{m.Path: true}
	var add func(modules.Module)
	add = func(m modules.Module) {
		for _, r := range m.Requires(list) {
			if !seen[r.Path] {
				seen[r.Path] = true
				all = append(all, r)
				add(r)
			}
		}
	}
	add(m)
	return all
}
