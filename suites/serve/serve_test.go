package serve

import (
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/suites/logs"
)

// The load arrives: each line of each request is in the store of the server's process once, in
// a closed loop and at a rate, and planted words are found.
func TestLoadArrives(t *testing.T) {
	const batch, count = 50, 40
	l, err := logs.NewLines(1, logs.Source{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "requests")
	if err := WriteRequests(name, Planted(l.Next, map[int64]string{7: "planted", 1999: "planted"}), Texts(l), batch, count); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRequests(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Count() != count || r.Batch() != batch {
		t.Fatal(r.Count(), r.Batch())
	}
	p, err := Start(t.Context(), filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	load := Load{Addr: p.Addr, Conns: 3, Count: count / 2}
	for range 2 {
		f, err := load.Run(t.Context(), r)
		if err != nil || f.Requests != count/2 || f.Latency.Count() != count/2 {
			t.Fatal(f.Requests, err)
		}
		load.Rate = 1000
	}
	u, err := p.Seal(false)
	if err != nil || u.Stats.Entries != batch*count || u.CPU <= 0 || u.PeakRSS <= 0 {
		t.Error(u.Stats.Entries, u.CPU, u.PeakRSS, err)
	}
	a := Asker{Addr: p.Addr}
	found, err := a.Ask(t.Context(), "query_range", append(times, "query", "{app=~`.+`} |= `planted`")...)
	if err != nil || found.Lines() != 2 {
		t.Error(found, err)
	}
	counted, err := a.Ask(t.Context(), "query", append(at, "query", "sum(count_over_time({app=~`.+`}"+over+"))")...)
	if err != nil || counted.Value() != batch*count {
		t.Error(counted, err)
	}
}
