package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/tools/internal/modules"
)

// tidy runs go mod tidy in a copy of each module. go.sum lines of our own
// modules are left out: the sums of a version are known when it is released.
func tidy(ctx context.Context, top, tmp string, diff bool, stdout io.Writer) error {
	list, err := modules.Load(top)
	if err != nil {
		return err
	}
	tools, err := modules.NewToolchain(ctx, tmp)
	if err != nil {
		return err
	}
	version, untidy := modules.Version(list), 0
	for i, m := range list {
		changed, err := tidyModule(ctx, tools, top, filepath.Join(tmp, fmt.Sprint(i)), m, list, diff)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		for _, c := range changed {
			fmt.Fprintln(stdout, c)
		}
		untidy += len(changed)
		if m.Published() {
			if _, err := modules.Write(ctx, tools.Proxy, top, m, version); err != nil {
				return err
			}
		}
	}
	if diff && untidy > 0 {
		return errors.New("not tidy: run go run ./tools/release tidy")
	}
	return nil
}

// tidyModule tidies m in copyDir, and unless diff is set also in the tree. It
// returns the differences.
func tidyModule(ctx context.Context, tools *modules.Toolchain, top, copyDir string, m modules.Module, list []modules.Module, diff bool) ([]string, error) {
	dir := filepath.Join(top, m.Dir)
	if err := copySource(ctx, dir, copyDir); err != nil {
		return nil, err
	}
	before, err := modules.ReadSum(filepath.Join(dir, "go.sum"), list)
	if err != nil {
		return nil, err
	}
	if err := modules.WriteSum(filepath.Join(copyDir, "go.sum"), before); err != nil {
		return nil, err
	}
	if _, err := tools.Run(ctx, copyDir, "mod", "tidy"); err != nil {
		return nil, err
	}
	after, err := modules.ReadSum(filepath.Join(copyDir, "go.sum"), list)
	if err != nil {
		return nil, err
	}
	var changed []string
	if text := difference(before, after); text != "" {
		changed = append(changed, filepath.Join(m.Dir, "go.sum")+":\n"+text)
		if !diff {
			if err := modules.WriteSum(filepath.Join(dir, "go.sum"), after); err != nil {
				return nil, err
			}
		}
	}
	text, err := tidyFile(filepath.Join(dir, "go.mod"), filepath.Join(copyDir, "go.mod"), diff)
	if text != "" {
		changed = append(changed, filepath.Join(m.Dir, "go.mod")+":\n"+text)
	}
	return changed, err
}

func tidyFile(name, tidied string, diff bool) (string, error) {
	old, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(tidied)
	if err != nil || bytes.Equal(old, data) {
		return "", err
	}
	if !diff {
		err = os.WriteFile(name, data, 0o666)
	}
	split := func(b []byte) []string { return strings.SplitAfter(string(b), "\n") }
	return difference(split(old), split(data)), err
}

// difference returns the lines that only one side has, with - or + before each.
func difference(before, after []string) string {
	var b strings.Builder
	only := func(sign string, list, other []string) {
		has := map[string]bool{}
		for _, l := range other {
			has[l] = true
		}
		for _, l := range list {
			if !has[l] {
				b.WriteString(sign + strings.TrimSuffix(l, "\n") + "\n")
			}
		}
	}
	only("-", before, after)
	only("+", after, before)
	return b.String()
}

// copySource copies the files of the module in dir that its zip would have.
func copySource(ctx context.Context, dir, to string) error {
	names, err := modules.Files(ctx, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
