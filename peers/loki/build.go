// Package loki runs Loki and logcli, as processes of their own, to see what they answer:
// nothing of theirs is linked. It has the data that they are asked about, and the queries.
package loki

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the release that answers were recorded from.
const Version = "v3.7.8"

const module = "github.com/grafana/loki/v3"

// Build builds a command of Loki's module, "loki" or "logcli", into dir, and returns its
// path; one that is there already it returns as it is. A build takes minutes, network
// access and some GB of build cache.
func Build(ctx context.Context, dir, command string) (string, error) {
	binary := filepath.Join(dir, command)
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	source, err := download(ctx, dir)
	if err != nil {
		return "", err
	}
	if err := run(ctx, source, "go", "build", "-o", binary, "./cmd/"+command); err != nil {
		return "", err
	}
	return binary, nil
}

// download copies the module to dir, where it can be built by itself: it replaces a part
// of it by a directory that the module does not contain.
func download(ctx context.Context, dir string) (string, error) {
	source := filepath.Join(dir, "source")
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
		return source, nil
	}
	c := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+Version)
	c.Dir = os.TempDir()
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	if err := os.CopyFS(source, os.DirFS(m.Dir)); err != nil {
		return "", err
	}
	if err := os.Chmod(filepath.Join(source, "go.mod"), 0o644); err != nil {
		return "", err
	}
	if err := run(ctx, source, "go", "mod", "edit", "-dropreplace=github.com/grafana/loki/pkg/push"); err != nil {
		return "", err
	}
	return source, run(ctx, source, "go", "mod", "tidy")
}

func run(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}
