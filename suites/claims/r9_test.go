package claims

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// r9Made makes up results of R9 with knees at the given threads, from lo to hi.
func r9Made(c *Claim, knee func(surface string) (lo, hi int)) *made {
	m := in("d", "ext4").all(c, func(e *lab.Experiment, v string) float64 { return 5000 })
	cells := c.Experiments[0]
	r := m.results[0]
	for i := range r.Variants {
		v := &r.Variants[i]
		v.Cell = cells.Variants[i].Cell
	}
	for _, reading := range r9Readings {
		lo, hi := knee(reading.surface)
		s := run.Surface{Name: reading.surface}
		for _, v := range r.Variants {
			if v.Cell.Surface != reading.surface {
				continue
			}
			s.Best = v.Name
			if v.Cell.X == lo {
				s.KneeLo = v.Name
			}
			if v.Cell.X == hi {
				s.KneeHi = v.Name
			}
		}
		r.Surfaces = append(r.Surfaces, s)
	}
	return m
}

func TestJudgeR9(t *testing.T) {
	c := claimR9()
	of := func(knee func(surface string) (lo, hi int)) run.Claim { return judge(t, &c, r9Made(&c, knee)) }
	formula := func(surface string) (int, int) {
		if surface == r9Shallow {
			return 8, 8
		}
		return 16, 16
	}
	expect(t, "as the formula has it", of(formula), Holds)
	expect(t, "all at 1", of(func(string) (int, int) { return 1, 1 }), DoesNotHold)
	got := of(func(s string) (int, int) {
		if s == r9Blocking {
			return 32, 64
		}
		return formula(s)
	})
	expect(t, "blocking threads otherwise", got, Depends)
	if !strings.Contains(got.Measured, "knee from 32 to 64, the formula says 16") {
		t.Errorf("measured: %s", got.Measured)
	}
	expect(t, "the intervals do not tell", of(func(s string) (int, int) { return 4, 16 }), CannotTell)

	m := r9Made(&c, formula)
	m.results[0].Surfaces[1] = run.Surface{Name: r9Shallow}
	for i := range m.results[0].Variants {
		if v := &m.results[0].Variants[i]; v.Cell.Surface == r9Shallow {
			v.Error = "io_uring is forbidden"
		}
	}
	got = judge(t, &c, m)
	expect(t, "no io_uring", got, CannotTest)
	if !strings.Contains(got.Why, "io_uring is forbidden") {
		t.Errorf("not named: %s", got.Why)
	}
	expect(t, "nothing", judge(t, &c, in("d", "ext4")), CannotTest)
}

// The cells of R9 are the numbers of threads, and the reads in flight add up.
func TestR9Cells(t *testing.T) {
	e := r9()
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, v := range e.Variants {
		count[v.Cell.Surface]++
	}
	if count[r9Deep] != 7 || count[r9Shallow] != 5 || count[r9Blocking] != 7 {
		t.Errorf("cells: %v", count)
	}
	for depth, want := range map[int]int{128: 16, 64: 16, 32: 8} {
		if got := r9Formula(depth); got != want {
			t.Errorf("depth %d: %d threads, want %d", depth, got, want)
		}
	}
}
