package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/tools/internal/modules"
)

// lowest vets each published module by itself, tests included, without the workspace:
// then every module has exactly the version that the go.mod requires, and a
// requirement that is too low fails. With test set it also runs the tests.
func lowest(ctx context.Context, top, tmp string, test bool, stdout io.Writer) error {
	list, err := modules.Load(top)
	if err != nil {
		return err
	}
	tools, err := modules.NewToolchain(ctx, tmp)
	if err != nil {
		return err
	}
	version := modules.Version(list)
	var sums []string
	for i, m := range list { // each after the modules that it requires
		if !m.Published() {
			continue
		}
		dir := filepath.Join(tmp, fmt.Sprint(i))
		if err := copySource(ctx, filepath.Join(top, m.Dir), dir); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		known, err := modules.ReadSum(filepath.Join(top, m.Dir, "go.sum"), list)
		if err != nil {
			return err
		}
		if err := modules.WriteSum(filepath.Join(dir, "go.sum"), slices.Concat(known, sums)); err != nil {
			return err
		}
		for _, args := range checks(test) {
			if _, err := tools.Run(ctx, dir, args...); err != nil {
				return fmt.Errorf("%s at the versions that its go.mod requires: %w", m.Path, err)
			}
		}
		fmt.Fprintf(stdout, "%s: passes at the versions that its go.mod requires\n", m.Path)
		s, err := modules.Write(ctx, tools.Proxy, top, m, version)
		if err != nil {
			return err
		}
		sums = append(sums, s.Lines(m.Path, version)...)
	}
	return nil
}

// checks returns the arguments of the go commands of lowest.
func checks(test bool) [][]string {
	all := [][]string{
		{"vet", "-mod=readonly", "-trimpath", "./..."},
	}
	if test {
		all = append(all, []string{"test", "-mod=readonly", "./..."})
	}
	return all
}
