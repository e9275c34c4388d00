package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

// No way of showing a run says that a write in memory survives a power cut.
func TestNothingSurvivesInMemory(t *testing.T) {
	r := exactRun(8, named(powerPrefix, "old", "x"), map[string]float64{"old": 100, "x": 50})
	r.Places = []run.Place{{Name: r.Results[0].Place, Environment: run.Environment{Dir: "/t", FS: "tmpfs", Mount: "/t"}}}
	r.Claims = []run.Claim{{ID: "T1", Statement: "s", Claimed: "c", Verdict: "holds", Promise: "power", Place: r.Places[0].Name}}
	r.Analyse()
	if got, want := Verdict(r, r.Results[0]), "survives the same: kill -9, not a power cut here (the files are in memory)"; !strings.Contains(got, want) {
		t.Errorf("no %q in: %s", want, got)
	}
	var text, markdown, html, bench bytes.Buffer
	for name, err := range map[string]error{
		"text": Text(&text, r, TextOptions{Details: true}), "Markdown": Markdown(&markdown, r), "HTML": HTML(&html, r), "benchmark format": GoBench(&bench, r),
	} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, shown := range map[string]string{"text": text.String(), "Markdown": markdown.String(), "HTML": html.String()} {
		flat := strings.Join(strings.Fields(shown), " ")
		for _, want := range []string{"kill -9, not a power cut here (the files are in memory)", "no write survives a power cut: the files are in memory (/t)", "power; here no write survives a power cut"} {
			if !strings.Contains(flat, want) {
				t.Errorf("%s: no %q in:\n%s", name, want, shown)
			}
		}
	}
	if strings.Contains(bench.String(), "level=power") || !strings.Contains(bench.String(), "level=kill") {
		t.Errorf("benchmark format:\n%s", bench.String())
	}
}

func TestCapWordsAreThere(t *testing.T) {
	for _, e := range []run.Environment{
		{FS: "tmpfs"}, {FS: "ext4", Journal: "none"}, {FS: "ext4", Journal: "writeback"}, {FS: "ext4", Options: "nobarrier"},
		{FS: "overlay", Options: "volatile"}, {FS: "fuse.rclone"}, {FS: "nfs"}, {FS: "fuse.x"},
	} {
		caps := run.CapsOf(&e)
		if len(caps) == 0 {
			t.Errorf("%+v has no cap", e)
		}
		for _, c := range caps {
			if capWords(c.Code) == c.Code || strings.Contains(CapText(c), c.Code+")") {
				t.Errorf("%s has no words: %s", c.Code, CapText(c))
			}
		}
	}
}
