package peers_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/peers"
)

// replacePeers are the peers' variants of replace/single.
func replacePeers(t *testing.T) (e lab.Experiment, list []lab.Variant) {
	t.Helper()
	before := fullSuite(t, "replace")[0]
	e = peers.Extend([]lab.Experiment{before})[0]
	return e, e.Variants[len(before.Variants):]
}

func TestReplacePeers(t *testing.T) {
	_, list := replacePeers(t)
	want := 4
	if runtime.GOOS == "windows" {
		want = 2
	}
	if len(list) != want {
		t.Errorf("%d peers, want %d", len(list), want)
	}
	for _, v := range list {
		if v.Promise != (run.Writes(durability.Kill, durability.OldOrNew)) {
			t.Errorf("%s promises %v", v.Name, v.Promise)
		}
	}
	for _, e := range peers.Extend(fullSuite(t, "replace")) {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// A peer is comparable if it leaves the files that the plain sequence leaves, and no
// others.
func TestReplacePeersLeaveTheSameFiles(t *testing.T) {
	for _, e := range peers.Extend(fullSuite(t, "replace")) {
		if e.Params["size"] != "4096" || e.Params["files"] == "512" {
			continue // the same jobs
		}
		var want map[string]filetest.File
		for _, v := range e.Variants {
			if v.Name != "write, rename" && !strings.Contains(v.Name, "/") && !strings.HasPrefix(v.Name, "renameio") {
				continue
			}
			dir, temp := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", temp) // renameio's default
			if _, err := lab.RunOnce(t.Context(), &e, &v, dir, 3, 7); err != nil {
				t.Fatalf("%s: %s: %v", e.ID(), v.Name, err)
			}
			got := filetest.Files(t, dir)
			if want == nil {
				want = got
			}
			if !maps.Equal(got, want) || len(filetest.Files(t, temp)) != 0 {
				t.Errorf("%s: %s left %d files, the plain sequence %d, or others", e.ID(), v.Name, len(got), len(want))
			}
		}
	}
}

const traceEnv = "STELE_PEERS_TRACE"

// The system calls of the peers are as their promise says: the content is synced once,
// before the rename, and no directory.
func TestWhatPeersSync(t *testing.T) {
	if dir := os.Getenv(traceEnv); dir != "" {
		name, dir, _ := strings.Cut(dir, ":")
		e, list := replacePeers(t)
		i := slices.IndexFunc(list, func(v lab.Variant) bool { return v.Name == name })
		if _, err := lab.RunOnce(t.Context(), &e, &list[i], dir, 1, 7); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, list := replacePeers(t)
	for _, v := range list {
		dir, out := t.TempDir(), filepath.Join(t.TempDir(), "strace")
		cmd := exec.Command("strace", "-f", "-y", "-e", "signal=none", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o", out,
			self, "-test.run", "^TestWhatPeersSync$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%s", traceEnv, v.Name, dir), "TMPDIR="+t.TempDir(), "GOCOVERDIR="+t.TempDir())
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("strace cannot trace here: %v: %s", err, msg)
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		for line := range strings.Lines(string(raw)) {
			_, call, _ := strings.Cut(line, " ")
			name, _, isCall := strings.Cut(strings.TrimSpace(call), "(")
			switch {
			case !isCall:
			case strings.Contains(name, "sync"):
				calls = append(calls, "sync")
				if strings.Contains(call, "<"+dir+">") {
					t.Errorf("%s syncs the directory: %s", v.Name, call)
				}
			case strings.Contains(call, dir+`/0"`):
				calls = append(calls, "rename")
			}
		}
		if got := strings.Join(calls, " "); got != "sync rename" {
			t.Errorf("%s: %q, want one sync before the rename\n%s", v.Name, got, raw)
		}
	}
}

func TestBesideRenameio(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no renameio on Windows")
	}
	list := peers.BesideRenameio()
	if len(list) != 2 {
		t.Fatalf("%d experiments, want one a size", len(list))
	}
	for _, e := range list {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		if base := e.BaselineFor(e.Variants[0].Promise); base.Name != "renameio.WriteFile" || base != &e.Variants[0] {
			t.Errorf("%s has the baseline %s", e.ID(), base.Name)
		}
		for _, name := range []string{"atomicfile.WriteFile", "Dir.WriteFile"} {
			v := e.Variant(name)
			if v == nil || v.Promise.Level != durability.Power {
				t.Fatalf("%s lacks %s at level Power", e.ID(), name)
			}
			if _, err := lab.RunOnce(t.Context(), &e, v, t.TempDir(), 2, 7); err != nil {
				t.Error(err)
			}
		}
	}
}
