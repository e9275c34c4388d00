package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func TestJudgeC10(t *testing.T) {
	c := claimC10()
	made := func(b, bTail, slices, slicesTail float64) *made {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			variantTempHere: 800_000, variantTempShm: 800_000 / b, variantSlices: 800_000 / slices,
		}))
		return m.tails(func(_ *run.Result, v *run.VariantResult) float64 {
			return 47_200_000 / map[string]float64{variantTempHere: 1, variantTempShm: bTail, variantSlices: slicesTail}[v.Name]
		})
	}
	of := func(b, bTail, slices, slicesTail float64) run.Claim {
		return judge(t, &c, made(b, bTail, slices, slicesTail))
	}
	expect(t, "as claimed", of(7.2, 15.3, 17.4, 59), Holds)
	expect(t, "better", of(20, 50, 500, 900), Holds)
	expect(t, "nothing", of(1.5, 2, 3, 5), DoesNotHold)
	expect(t, "memory only", of(1.5, 2, 500, 900), Depends)
	expect(t, "on the limit", of(8900.0/1240*0.9, 15.3, 17.4, 59), CannotTell)

	m := made(7.2, 15.3, 17.4, 59)
	m.results[0].Variants[0].Error = "too few inodes"
	got := judge(t, &c, m)
	expect(t, "no room", got, CannotTest)
	if !strings.Contains(got.Why, "inodes") {
		t.Errorf("not named: %s", got.Why)
	}
}

func TestSliceIsFullAtItsEnd(t *testing.T) {
	from := make(chan *slice, 1)
	s := &slice{from: from, mem: make([]byte, 8)}
	if n, err := s.Write(make([]byte, 6)); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Write(make([]byte, 6)); n != 2 || err == nil {
		t.Errorf("wrote %d bytes past the end: %v", n, err)
	}
	if err := s.Close(); err != nil || (<-from).n != 0 {
		t.Errorf("not given back empty: %v", err)
	}
}
