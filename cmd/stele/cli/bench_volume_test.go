package cli

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab/run"
)

func TestVolumeIsChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, volume := range []string{"gp9", "iops=0", "gp3,iops=2", "mbps"} {
		code, _, diag := stele(t, "bench", "mkdir", "--volume", volume)
		if code != exitUsage || !strings.Contains(diag, "--volume") {
			t.Errorf("--volume %s: exit code %d: %s", volume, code, diag)
		}
	}
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		return
	}
	code, _, diag := stele(t, "bench", "mkdir", "--volume", "gp3")
	if code != exitFailed || diag == "" {
		t.Errorf("where there are no images: exit code %d: %s", code, diag)
	}
}

// The report names a limited place, with a warning of what is not imitated.
func TestVolumeIsTold(t *testing.T) {
	b := benchFlags{volume: "gp3", rounds: 1, blockTime: time.Second, imageSize: "1G"}
	if err := b.check(); err != nil {
		t.Error(err)
	}
	if len(b.fs) != 1 || b.fs[0] != "ext4" {
		t.Errorf("--volume alone measures on %q, want an ext4", b.fs)
	}
	got := &run.Run{Places: []run.Place{{Name: b.volumePlace("ext4")}, {Name: "."}}}
	b.noteVolume(got)
	ws := got.Places[0].Environment.Warnings
	if len(ws) == 0 || ws[0].Code != run.WarnLimited || !strings.Contains(ws[0].Text, "3000 IOPS, 125 MiB/s") || ws[0].N != 256<<10 {
		t.Fatalf("warnings %+v", ws)
	}
	if group := len(ws) == 2 && ws[1].Code == run.WarnLimitGroup; group != scratch.LimitedByGroup() || !group && len(ws) != 1 {
		t.Errorf("warnings %+v; limited by cgroup v2: %v", ws, scratch.LimitedByGroup())
	}
	if len(got.Places[1].Environment.Warnings) != 0 {
		t.Error("a directory is said to be limited")
	}
	var none benchFlags
	got.Places = []run.Place{{Name: "ext4 on "}}
	if none.noteVolume(got); len(got.Places[0].Environment.Warnings) != 0 {
		t.Error("without --volume a place is said to be limited")
	}
}
