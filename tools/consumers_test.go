package tools_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/tools/internal/modules"
)

// A consumer is a program elsewhere that imports one package of ours.
type consumer struct {
	t     *testing.T
	tools *modules.Toolchain
	dir   string
}

// published writes a module proxy of this tree and returns the toolchain that
// reads it, and the version of our modules there.
func published(t *testing.T) (tools *modules.Toolchain, version string) {
	t.Helper()
	top, err := modules.Top(".")
	if err != nil {
		t.Fatal(err)
	}
	list, err := modules.Load(top)
	if err != nil {
		t.Fatal(err)
	}
	if tools, err = modules.NewToolchain(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	version = modules.Version(list)
	for _, m := range list {
		if !m.Published() {
			continue
		}
		if _, err := modules.Write(tools.Proxy, top, m, version); err != nil {
			t.Fatal(err)
		}
		if len(m.File.Replace) > 0 {
			t.Errorf("%s: its go.mod has a replace, which is ignored where it is required", m.Path)
		}
	}
	return tools, version
}

// newConsumer writes a program that imports packages, and requires modules as
// "path@version".
func newConsumer(t *testing.T, tools *modules.Toolchain, packages, required []string) consumer {
	t.Helper()
	c := consumer{t, tools, t.TempDir()}
	text := "package main\n\nimport (\n"
	for _, p := range packages {
		text += "\t_ \"" + p + "\"\n"
	}
	c.write("main.go", text+")\n\nfunc main() {}\n")
	c.write("go.mod", "module example.com/consumer\n\ngo 1.26.0\n")
	for _, r := range required {
		c.run("mod", "edit", "-require="+r)
	}
	return c
}

func (c consumer) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o666); err != nil {
		c.t.Fatal(err)
	}
}

func (c consumer) run(args ...string) string {
	c.t.Helper()
	out, err := c.tools.Run(c.t.Context(), c.dir, args...)
	if err != nil {
		if strings.Contains(err.Error(), "dial tcp") || strings.Contains(err.Error(), "no such host") {
			c.t.Skip("a module is neither in the module cache nor can it be fetched: ", err)
		}
		c.t.Fatal(err)
	}
	return out
}

// unneeded are the modules in the build list that give no package to the
// program. Each would lift a consumer's own version of it.
func (c consumer) unneeded() (list []string) {
	needed := strings.Fields(c.run("list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./..."))
	for path := range strings.FieldsSeq(c.run("list", "-m", "-f", "{{.Path}}", "all")) {
		if !slices.Contains(needed, path) {
			list = append(list, path)
		}
	}
	return list
}

// buildTags are modules that a requirement of ours requires for files that a
// build tag leaves out. go mod tidy minds every tag.
var buildTags = []string{
	"github.com/mschoch/smat", // roaring, gofuzz
}

// A program that imports one package of ours gets the modules that this
// package's code needs, and no other's.
func TestConsumersGetNothingElse(t *testing.T) {
	tools, version := published(t)
	for _, c := range []struct{ pkg, module string }{
		{"atomicfile", ""}, {"wal", ""}, {"lab", "/lab"}, {"logstore", "/logstore"},
		{"lab/run", "/lab"}, {"fileio/pace", "/fileio/pace"}, {"fileio/otelio", "/fileio/otelio"}, {"crashtest/states", "/crashtest"},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			const ours = "github.com/stele-go/stele"
			p := newConsumer(t, tools, []string{ours + "/" + c.pkg}, []string{ours + c.module + "@" + version})
			p.run("mod", "tidy")
			p.run("build", "-trimpath", "-o", os.DevNull, "./...")
			moved := slices.DeleteFunc(p.unneeded(), func(m string) bool {
				return slices.Contains(buildTags, m) || strings.HasPrefix(m, ours)
			})
			if len(moved) > 0 {
				t.Errorf("a program that imports %s gets modules that it does not need: %s", c.pkg, strings.Join(moved, " "))
			}
		})
	}
}

// Modules that a consumer has for itself stay at the consumer's versions.
func TestConsumersKeepTheirVersions(t *testing.T) {
	tools, version := published(t)
	own := []string{"github.com/klauspost/compress@v1.18.0", "go.opentelemetry.io/otel@v1.38.0"}
	p := newConsumer(t, tools,
		[]string{"github.com/stele-go/stele/atomicfile", "github.com/klauspost/compress/zstd", "go.opentelemetry.io/otel/attribute"},
		append(own, "github.com/stele-go/stele@"+version))
	p.run("mod", "tidy")
	list := strings.Fields(p.run("list", "-m", "-f", "{{.Path}}@{{.Version}}", "all"))
	for _, m := range own {
		if !slices.Contains(list, m) {
			t.Errorf("%s has moved:\n%s", m, strings.Join(list, "\n"))
		}
	}
}

// go install of the command works without the workspace, and what it installs
// runs.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all of stele")
	}
	tools, version := published(t)
	if _, err := tools.Run(t.Context(), t.TempDir(), "install", "-trimpath", "github.com/stele-go/stele/cmd/stele@"+version); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(tools.Bin(), "stele"), "help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stele bench") {
		t.Errorf("stele help: %v\n%s", err, out)
	}
}
