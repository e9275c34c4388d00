package tools_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayNotLink has the packages that a package must not link, itself or by what it
// imports. A package stands for those below it too.
var mayNotLink = map[string][]string{
	// A command has no flags of go test, and brings no test kit along.
	"cmd/stele": {"testing", house + "/internal/filetest", house + "/internal/tracetest", house + "/crashtest/power/powertest"},
	// To record in memory takes no FUSE: package mount serves the mounts.
	"crashtest/states": {"testing", "github.com/hanwen/go-fuse"},
	// To show a run takes nothing that measures.
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
			t.Errorf("%s is said not to link %s", pkg, want)
		}
	}
}

// linked returns the packages that a program that imports pkg is linked from.
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
