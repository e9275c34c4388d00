package tools_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayNotLink has the packages that a package must not link, directly or by its
// imports. A package stands for those below it too.
var mayNotLink = map[string][]string{
	// A command has no flags of go test, and links no test kit.
	"cmd/stele": {"testing", house + "/internal/filetest", house + "/internal/testseed", house + "/internal/tracetest", house + "/crashtest/power/powertest"},
	// A program that records in memory links no FUSE: package mount has the mounts.
	"crashtest/states": {"testing", "github.com/hanwen/go-fuse"},
	// A program that shows a run links nothing that measures.
	"lab/report": {"testing", "github.com/cilium/ebpf", house + "/internal/measure", house + "/internal/sys"},
	"lab/run":    {"testing", "github.com/cilium/ebpf", house + "/internal/measure", house + "/internal/sys"},
}

func TestPackagesLinkNoMore(t *testing.T) {
	for pkg, not := range mayNotLink {
		for _, dep := range linked(t, pkg) {
			if allowed(not, dep) {
				t.Errorf("%s links %s", pkg, dep)
			}
		}
	}
}

// Without it the test above would pass if linked found nothing.
func TestLinkedPackagesAreFound(t *testing.T) {
	for pkg, want := range map[string]string{"lab": "github.com/cilium/ebpf", "crashtest/power/powertest": "testing", "crashtest/states/mount": "github.com/hanwen/go-fuse/v2/fuse"} {
		if !slices.Contains(linked(t, pkg), want) {
			t.Errorf("%s does not link %s by this test; it does", pkg, want)
		}
	}
}

// linked returns the packages that a program that imports pkg links.
func linked(t *testing.T, pkg string) []string {
	t.Helper()
	top, _ := loadModules(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+pkg)
	cmd.Dir = top
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("needs the go command: ", err)
	}
	if err != nil {
		stderr := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			stderr = string(exit.Stderr)
		}
		t.Fatalf("go list -deps ./%s: %v\n%s", pkg, err, stderr)
	}
	return strings.Fields(string(out))
}
