package claims

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
)

// r5Source is the report's copy, mended: io.CopyN(file, reader, n) from a bytes.Reader.
const r5Source = `package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"
)

func main() {
	size, _ := strconv.Atoi(os.Args[1])
	copies, _ := strconv.Atoi(os.Args[2])
	flags, _ := strconv.Atoi(os.Args[3])
	f, err := os.OpenFile("data", os.O_RDWR|os.O_CREATE|flags, 0o644)
	check(err)
	memory := make([]byte, size+4096)
	memory = memory[4096-uintptr(unsafe.Pointer(&memory[0]))%4096:][:size]
	src := bytes.NewReader(memory)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	for i := 0; i < copies; i++ {
		_, err := src.Seek(0, io.SeekStart)
		check(err)
		_, err = f.Seek(0, io.SeekStart)
		check(err)
		_, err = io.CopyN(f, src, int64(size))
		check(err)
	}
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	fmt.Println(runtime.Version(), took.Nanoseconds(), after.Mallocs-before.Mallocs)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`

// r5Program returns the program built by a version of Go, "1.21", or by the go command at
// hand. All blocks of a run share it.
func r5Program(b *lab.B, version string) (string, error) {
	dir, err := b.Shared("r5-go"+version, func(dir string) error {
		goCommand, env, err := findGo(b.Context(), version)
		if err != nil {
			return err
		}
		source := filepath.Join(dir, "main.go")
		if err := os.WriteFile(source, []byte(r5Source), 0o600); err != nil {
			return err
		}
		cmd := exec.CommandContext(b.Context(), goCommand, "build", "-o", filepath.Join(dir, "program"), source)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s build: %w: %s", goCommand, err, out)
		}
		return nil
	})
	return filepath.Join(dir, "program"), err
}

// findGo returns the go command of a version, and the environment it needs. It downloads
// nothing: it takes goVERSION of golang.org/dl in PATH, or a toolchain that the go command
// has downloaded before.
func findGo(ctx context.Context, version string) (name string, env []string, err error) {
	// Neither a go.work nor flags of the user's may change what is built.
	env = []string{"GOWORK=off", "GO111MODULE=off", "GOFLAGS="}
	if version == "" {
		if name, err = exec.LookPath("go"); err != nil {
			return "", nil, job.Unsupported("there is no go command in PATH")
		}
		return name, append(env, "GOTOOLCHAIN=local"), nil
	}
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		if out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output(); err == nil {
			cache = strings.TrimSpace(string(out))
		}
	}
	var found []string
	patterns := []string{filepath.Join(cache, "golang.org", "toolchain@v0.0.1-go"+version+"*."+runtime.GOOS+"-"+runtime.GOARCH, "bin", "go")}
	if home, err := os.UserHomeDir(); err == nil {
		patterns = append(patterns, filepath.Join(home, "sdk", "go"+version+"*", "bin", "go"))
	}
	for _, p := range patterns {
		at, err := filepath.Glob(p)
		if err != nil {
			return "", nil, err
		}
		found = append(found, at...)
	}
	if len(found) == 0 {
		return "", nil, job.Unsupported("Go %s, which is not on this machine: GOTOOLCHAIN=go%s.1 go version, or golang.org/dl, downloads it", version, version)
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) })
	return found[len(found)-1], append(env, "GOTOOLCHAIN=local"), nil
}

// runR5 runs the program and returns the time and the allocations of a copy.
func runR5(ctx context.Context, program, file string) (ns, allocs float64, err error) {
	flags := 0
	if file == "direct" {
		if flags = fileop.DirectFlag; flags == 0 {
			return 0, 0, fmt.Errorf("O_DIRECT: %w", errors.ErrUnsupported)
		}
	}
	cmd := exec.CommandContext(ctx, program, strconv.Itoa(r5Bytes), strconv.Itoa(r5Copies), strconv.Itoa(flags))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if text := strings.TrimSpace(stderr.String()); strings.Contains(text, "invalid argument") {
		return 0, 0, job.Unsupported("O_DIRECT through io.CopyN: %s", text)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	fields := strings.Fields(string(out))
	if len(fields) != 3 {
		return 0, 0, fmt.Errorf("%s printed %q", program, out)
	}
	took, err1 := strconv.ParseFloat(fields[1], 64)
	made, err2 := strconv.ParseFloat(fields[2], 64)
	return took / r5Copies, made / r5Copies, errors.Join(err1, err2)
}
