package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A side is the code before the change or after it.
type side struct {
	name string
	tree string // the top of the source
	bin  string // the directory of the test binaries
}

// command returns a process that ends with ctx.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second
	return c
}

// output runs a command and returns its standard output. The error has both outputs.
func output(c *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", strings.Join(c.Args, " "), err, errs.Bytes(), out.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}

// repository returns the top of the working tree.
func repository(ctx context.Context) (string, error) {
	return output(command(ctx, "", "git", "rev-parse", "--show-toplevel"))
}

// unpack puts the tree of revision base into dir, and returns the revision's
// short name. It leaves no trace in the repository, as a worktree of git would
// when this process is killed.
func unpack(ctx context.Context, top, base, dir string) (rev string, err error) {
	rev, err = output(command(ctx, top, "git", "rev-parse", "--short", base+"^{commit}"))
	if err != nil {
		return "", err
	}
	tarball := dir + ".tar"
	if _, err = output(command(ctx, top, "git", "archive", "-o", tarball, rev)); err != nil {
		return "", err
	}
	if err = os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	if _, err = output(command(ctx, dir, "tar", "-xf", tarball)); err != nil {
		return "", err
	}
	return rev, os.Remove(tarball)
}

// copyTests copies files of the working tree to the base.
func copyTests(names []string, top, base string) error {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(top, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(base, name), text, 0o666)
		}
		if err != nil {
			return fmt.Errorf("-with: %w", err)
		}
	}
	return nil
}

// binary returns the test binary of package p.
func (s side) binary(p string) string {
	return filepath.Join(s.bin, strings.ReplaceAll(strings.TrimPrefix(p, "./"), "/", "_")+".test")
}

// build makes the test binary of package p. Paths are trimmed: two builds of
// the same source are the same program.
func (s side) build(ctx context.Context, p string) error {
	if err := os.MkdirAll(s.bin, 0o777); err != nil {
		return err
	}
	_, err := output(command(ctx, s.tree, "go", "test", "-c", "-trimpath", "-buildvcs=false", "-o", s.binary(p), p))
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
