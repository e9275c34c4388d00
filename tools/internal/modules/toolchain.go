package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Toolchain runs the go command on one module, without the workspace. It
// finds modules of ours in a directory that Write has filled, and others in this
// machine's module cache or else where GOPROXY says.
type Toolchain struct {
	Proxy string // filled by Write
	Cache string // a module cache of its own: a release may differ from what has its version here
	proxy string // GOPROXY
}

// NewToolchain returns a Toolchain with empty directories below dir.
func NewToolchain(ctx context.Context, dir string) (*Toolchain, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(values) != 2 {
		return nil, fmt.Errorf("go env GOMODCACHE GOPROXY: %q; want two lines", out)
	}
	t := &Toolchain{Proxy: filepath.Join(dir, "proxy"), Cache: filepath.Join(dir, "cache")}
	t.proxy = "file://" + t.Proxy + ",file://" + filepath.Join(values[0], "cache", "download") + "," + values[1]
	return t, errors.Join(os.MkdirAll(t.Proxy, 0o777), os.MkdirAll(t.Cache, 0o777))
}

// Run runs the go command in dir and returns its standard output. The error has
// both of its outputs.
func (t *Toolchain) Run(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOPROXY="+t.proxy, "GOMODCACHE="+t.Cache,
		"GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=none", "GONOSUMDB=", "GOOS=", "GOARCH=", "GOFLAGS=-mod=mod -modcacherw", "GOTOOLCHAIN=local", "GOBIN="+filepath.Join(t.Cache, "bin"))
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return string(out), fmt.Errorf("go %s in %s: %w\n%s%s", strings.Join(args, " "), dir, err, stderr.String(), out)
	}
	return string(out), nil
}

// Bin returns where Run installs commands.
func (t *Toolchain) Bin() string { return filepath.Join(t.Cache, "bin") }
