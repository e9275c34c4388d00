package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// In memory a sync does nothing, whatever the figures.
func TestSyncsAreNotTestedInMemory(t *testing.T) {
	for _, c := range []Claim{claimH1(), claimH2(), claimH5(), claimH7()} {
		m := in("d", "tmpfs").all(&c, func(*lab.Experiment, string) float64 { return 100 })
		m.tails(func(*run.Result, *run.VariantResult) float64 { return 1000 })
		expect(t, c.ID+" on tmpfs", judge(t, &c, m), CannotTest)
	}
	if lack := onDisk(run.Environment{FS: "ext4", BackingFS: "tmpfs"}); !strings.Contains(lack, "memory") {
		t.Errorf("an image in memory lacks %q", lack)
	}
	if lack := onDisk(run.Environment{FS: "ext4", BackingFS: "xfs"}); lack != "" {
		t.Errorf("an image on a disk lacks %q", lack)
	}
}
