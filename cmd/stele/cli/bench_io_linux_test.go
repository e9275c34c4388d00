package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/lab/env"
)

// A job on a block device carries what is known of the device, not of the directory from
// which it was called.
func TestBenchIODevice(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	t.Chdir(t.TempDir())
	image, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := image.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	dev, err := loopfs.Attach(image)
	if err != nil {
		t.Skip(err)
	}
	defer dev.Close()
	code, _, diag := stele(t, "bench", "io", "--file", dev.Name(), "--rounds", "2", "--ops", "9", "--json", "run.json", "--html", "run.html", "--progress", "none")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, diag)
	}
	r, err := readRunFrom("run.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Places[0]; p.Name != dev.Name() || p.Environment.FS != env.BlockDevice || p.Environment.Device != dev.Name() || p.Environment.Backing != image.Name() {
		t.Errorf("the place is %s: %s, device %s on %s", p.Name, p.Environment.FS, p.Environment.Device, p.Environment.Backing)
	}
	if code, _, diag := stele(t, "bench", "io", "--file", "/dev/null"); code != exitUsage || !strings.Contains(diag, "want a file or a block device") {
		t.Errorf("exit code %d: %s; want that /dev/null is refused", code, diag)
	}
}
