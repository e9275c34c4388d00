package calls

import "testing"

func TestLatencyAdds(t *testing.T) {
	var l Latency
	for _, ns := range []uint64{5, 100, 7} {
		l.Add(ns)
	}
	if l.Count() != 3 || l.Total != 112 || l.Max != 100 {
		t.Errorf("%d calls, %d ns, longest %d", l.Count(), l.Total, l.Max)
	}
}
