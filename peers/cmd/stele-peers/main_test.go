package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/peers"
)

// Blocks run this test binary again.
func TestMain(m *testing.M) {
	if lab.IsBlock() {
		os.Exit(lab.RunBlock(peers.Experiments()))
	}
	os.Exit(m.Run())
}

func TestWrongCalls(t *testing.T) {
	for _, args := range [][]string{{"--filter", "("}, {"--filter", "nothing-is-called-so"}, {"mkdri"}, {"--quick"}, {"--no-such-flag"}, {"--fs", "fat"}} {
		var out, errs bytes.Buffer
		if code := bench().Run(t.Context(), args, &out, &errs); code != 2 || errs.Len() == 0 || out.Len() != 0 {
			t.Errorf("%q: exit code %d, want 2 with a message; output %q, message %q", args, code, out.String(), errs.String())
		}
	}
}

func TestMeasuresThePeerBesideStele(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peers exist on Linux only")
	}
	// In memory, where no block waits for what others write.
	dir, err := os.MkdirTemp("/dev/shm", "stele-peers-")
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(t.TempDir(), "run.json")
	var out, errs bytes.Buffer
	if code := bench().Run(t.Context(), []string{"--dir", dir, "--filter", "existing", "--rounds", "1", "--json", file, "--html", filepath.Join(t.TempDir(), "run.html")}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := run.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, v := range r.Results[0].Variants {
		if v.Name == "securejoin.MkdirAllHandle" || v.Name == "Maker.All confined" {
			found++
			if v.Time.N != 1 || !(v.Time.Median > 0) {
				t.Errorf("%s was not timed: %+v", v.Name, v.Time)
			}
		}
	}
	if found != 2 || !strings.Contains(out.String(), "securejoin.MkdirAllHandle") {
		t.Errorf("the run or the report lacks a way:\n%s", out.String())
	}
}
