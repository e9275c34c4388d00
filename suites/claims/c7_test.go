package claims

import (
	"os"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeC7(t *testing.T) {
	c := claimC7()
	of := func(unpaced, paced, failA, failB float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == c7DupPool {
				return 1000 / unpaced
			}
			return 1000
		})
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["connection_mean_ns"], v.Metrics["failures_share"] = suitetest.About(4000), suitetest.About(failA)
			if v.Name == c7DupPool {
				v.Metrics["connection_mean_ns"], v.Metrics["failures_share"] = suitetest.About(4000/paced), suitetest.About(failB)
			}
		}))
	}
	expect(t, "as claimed", of(2.2, 2.2, 0.008, 0), Holds)
	expect(t, "alike, and B fails", of(1, 1, 0, 0.01), DoesNotHold)
	expect(t, "faster, and none fails", of(4, 4, 0, 0), Depends)
	expect(t, "on the limit", of(42./19*(1-slack), 2.2, 0.008, 0), CannotTell)
}

// A pool hands a descriptor to one user at a time, and each reads the file.
func TestDupPool(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("data", []byte("d"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := dupPool(2)()
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.get()
	if err != nil {
		t.Skipf("dup3: %v", err)
	}
	b, err := d.get()
	if err != nil || a.Fd() == b.Fd() {
		t.Errorf("two users got %v and %v, %v", a, b, err)
	}
	var one [1]byte
	if _, err := b.ReadAt(one[:], 0); err != nil || one[0] != 'd' {
		t.Errorf("reads %q, %v", one, err)
	}
	if _, err := d.get(); err == nil {
		t.Error("an empty pool gave a descriptor")
	}
	if err := d.put(a); err != nil {
		t.Error(err)
	}
	if c, err := d.get(); err != nil || c != a {
		t.Errorf("after giving back: %v, %v", c, err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}
