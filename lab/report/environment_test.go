package report

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestEnvironment(t *testing.T) {
	e := run.Environment{
		Hostname: "box", OS: "linux", Arch: "amd64", Kernel: "6.18", CPU: "X", CPUs: 2, Memory: 3 << 29, Go: "go1.26", GOMAXPROCS: 2,
		GoSettings: map[string]string{"GOGC": "off"}, Load: 0.5, Busy: 0.1, Dir: "/data", FS: "ext4", Mount: "/", Options: "rw",
		Journal: "ordered", FreeBytes: 512, TotalBytes: 1 << 40, Device: "/dev/sda1", DeviceID: "8:1",
		Unknown: map[string]run.Reason{"throttled": {Code: run.ReasonText, Text: "no count"},
			"rotational": {Code: run.ReasonNoFile, Text: "/sys/x"}, "write_cache": {Code: run.ReasonNoFile, Text: "/sys/x"}},
		Warnings: []run.Warning{{Code: "loop", Text: "It is one."}},
	}
	const want = `machine
  host           box
  system         linux/amd64 6.18
  processors     2 x X
  memory         1.50 GiB
  load           0.50; just now 10 % busy, 0 % waiting for disks, 0 % stolen
  Go             go1.26, GOMAXPROCS 2 GOGC=off

directory
  path           /data
  file system    ext4
  mounted at     /
  options        rw
  journal        ordered
  free           512 B of 1.00 TiB
  device         /dev/sda1 8:1

not known
  rotational, write_cache: /sys/x does not exist
  throttled: no count

warnings
  loop: It is one.
`
	var b strings.Builder
	if err := Environment(&b, &e); err != nil || b.String() != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, b.String(), want)
	}
}

// Every code of a place has words of its own: what, why it matters, what to do.
func TestPlaceWarnings(t *testing.T) {
	e := run.Environment{Dir: "/data", Mount: "/data", FS: "overlay", BackingFS: "tmpfs", Device: "/dev/loop0", Virtual: "kvm", Governor: "powersave", CPUs: 2}
	for _, code := range []string{
		run.WarnNoJournal, run.WarnNoBarrier, run.WarnTmpfs, run.WarnMemoryDisk, run.WarnOverlay, run.WarnNetwork, run.WarnFuse, run.WarnLoop,
		run.WarnWriteThrough, run.WarnLowSpace, run.WarnBusy, run.WarnDiskBusy, run.WarnStolen, run.WarnThrottled, run.WarnGovernor, run.WarnVirtual, run.WarnFewCPUs, run.WarnSiblings, run.WarnBeside, run.WarnLimited, run.WarnLimitGroup,
	} {
		text := PlaceWarning(&e, &run.Warning{Code: code})
		if len(text) < 60 || !strings.HasSuffix(text, ".") || strings.Contains(text, "%!") {
			t.Errorf("%s: %q", code, text)
		}
	}
	for want, w := range map[string]run.Warning{
		"a sentence of an earlier version.":                 {Code: "volume", Text: "a sentence of an earlier version."},
		"processors that share a core (0 and 4, 1 and 5): ": {Code: run.WarnSiblings, Text: "0 and 4, 1 and 5"},
		"limits this image to gp3: 3000 IOPS, 125 MiB/s, ":  {Code: run.WarnLimited, Text: "gp3: 3000 IOPS, 125 MiB/s"},
		"counts a request once for every 256 KiB of it":     {Code: run.WarnLimited, Text: "gp3", N: 256 << 10},
	} {
		if got := PlaceWarning(&e, &w); !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q in it", w, got, want)
		}
	}
}
