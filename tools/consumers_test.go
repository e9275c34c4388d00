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
		if _, err := modules.Write(t.Context(), tools.Proxy, top, m, version); err != nil {
			t.Fatal(err)
		}
		if len(m.File.Replace) > 0 {
			t.Errorf("%s: its go.mod has a replace, which is ignored where it is required", m.Path)
		}
	}
	return tools, version
}

// newConsumer writes a program that imports packages and requires modules, each
// as "path@version".
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

// fatal fails a test. It skips the test instead where a module of others is
// neither in the module cache nor can be fetched, but not in CI: there a skip
// would hide that nothing was tested.
func fatal(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	for _, offline := range []string{"dial tcp", "no such host", "disabled by GOPROXY=off", "proxyconnect", "i/o timeout", "connection refused"} {
		if strings.Contains(err.Error(), offline) {
			t.Skip("offline: ", err)
		}
	}
	t.Fatal(err)
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
		fatal(c.t, err)
	}
	return out
}

// modules returns the build list without ours, as "path version", sorted.
func (c consumer) modules() (list []string) {
	for line := range strings.Lines(c.run("list", "-m", "-f", "{{.Path}} {{.Version}}", "all")) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, house) && !strings.HasPrefix(line, "example.com/") {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

// foreign returns the packages of other modules that the program links, and
// the modules at the versions that it links.
func (c consumer) foreign() (packages, required []string) {
	const format = "{{with .Module}}{{$.ImportPath}} {{.Path}} {{.Version}}{{end}}"
	for line := range strings.Lines(c.run("list", "-deps", "-f", format, "./...")) {
		f := strings.Fields(line)
		if len(f) != 3 || strings.HasPrefix(f[1], house) {
			continue
		}
		if !strings.Contains(f[0]+"/", "/internal/") {
			packages = append(packages, f[0])
		}
		required = append(required, f[1]+"@"+f[2])
	}
	slices.Sort(required)
	return packages, slices.Compact(required)
}

// besides returns the modules that the program links, and those in its build
// list that a program with the same imports of other modules would not have.
func (c consumer) besides() (required, besides []string) {
	packages, required := c.foreign()
	reference := newConsumer(c.t, c.tools, packages, required)
	reference.run("mod", "tidy")
	want := reference.modules()
	return required, slices.DeleteFunc(c.modules(), func(m string) bool { return slices.Contains(want, m) })
}

// A program that imports one package of ours gets the modules that it would get
// by importing the packages of others that ours links, at the versions that our
// go.mod requires, and no other module.
func TestConsumersGetNothingElse(t *testing.T) {
	tools, version := published(t)
	for _, c := range []struct{ pkg, module string }{
		{"atomicfile", ""}, {"wal", ""}, {"lab", "/lab"}, {"logstore", "/logstore"},
		{"fileio/pace", "/fileio/pace"}, {"fileio/otelio", "/fileio/otelio"}, {"crashtest/power", "/crashtest"},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			p := newConsumer(t, tools, []string{house + "/" + c.pkg}, []string{house + c.module + "@" + version})
			p.run("mod", "tidy")
			p.run("build", "-trimpath", "-o", os.DevNull, "./...")
			required, besides := p.besides()
			for _, m := range besides {
				t.Errorf("a program that imports %s gets %s, which the package's own code does not need", c.pkg, m)
			}
			if c.module == "" && len(required) != 1 {
				t.Errorf("%s links %v; want golang.org/x/sys and nothing else", c.pkg, required)
			}
		})
	}
}

// The test above notices a module too many: lab/run links no BPF, but its module
// requires it for lab.
func TestConsumersCheckBites(t *testing.T) {
	tools, version := published(t)
	p := newConsumer(t, tools, []string{house + "/lab/run"}, []string{house + "/lab@" + version})
	p.run("mod", "tidy")
	_, besides := p.besides()
	if !slices.ContainsFunc(besides, func(m string) bool { return strings.HasPrefix(m, "github.com/cilium/ebpf ") }) {
		t.Errorf("besides %q; want cilium/ebpf among them", besides)
	}
}

// Modules that a consumer has for itself stay at the consumer's versions.
func TestConsumersKeepTheirVersions(t *testing.T) {
	tools, version := published(t)
	own := []string{"github.com/klauspost/compress@v1.18.0", "go.opentelemetry.io/otel@v1.38.0"}
	p := newConsumer(t, tools,
		[]string{house + "/atomicfile", "github.com/klauspost/compress/zstd", "go.opentelemetry.io/otel/attribute"},
		append(own, house+"@"+version))
	p.run("mod", "tidy")
	list := strings.Fields(p.run("list", "-m", "-f", "{{.Path}}@{{.Version}}", "all"))
	for _, m := range own {
		if !slices.Contains(list, m) {
			t.Errorf("%s has moved:\n%s", m, strings.Join(list, "\n"))
		}
	}
}

// go install of the command works without the workspace, and the installed
// command runs.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all of stele")
	}
	tools, version := published(t)
	if _, err := tools.Run(t.Context(), t.TempDir(), "install", "-trimpath", house+"/cmd/stele@"+version); err != nil {
		fatal(t, err)
	}
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(tools.Bin(), "stele"), "help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stele bench") {
		t.Errorf("stele help: %v\n%s", err, out)
	}
}
