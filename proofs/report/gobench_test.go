package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

// benchstat reads through benchfmt: benchfmt must read the output without an error and
// return the same values.
func TestGoBenchIsRead(t *testing.T) {
	r := runtest.Sample()
	r.Results[0].Variants[0].Name = "os.MkdirAll / with\tspaces-7"
	for i := range r.Results[0].Blocks {
		if b := &r.Results[0].Blocks[i]; b.Variant == "os.MkdirAll" {
			b.Variant = r.Results[0].Variants[0].Name
		}
	}
	var out bytes.Buffer
	if err := report.GoBench(&out, r); err != nil {
		t.Fatal(err)
	}
	var want []*run.Block // in the order of the output: by place, then by result
	for _, p := range r.Places {
		for _, res := range r.Results {
			for i := range res.Blocks {
				if b := &res.Blocks[i]; res.Place == p.Name && b.Role == run.RoleTimed && b.Error == "" {
					want = append(want, b)
				}
			}
		}
	}
	reader := benchfmt.NewReader(&out, "out.bench")
	n := 0
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			if n >= len(want) {
				t.Fatal("more results than timed blocks")
			}
			b := want[n]
			n++
			if int64(rec.Iters) != b.Ops {
				t.Fatalf("result %d has %d iterations, want %d", n, rec.Iters, b.Ops)
			}
			if got, ok := rec.Value("sec/op"); !ok || math.Abs(got*1e9/b.PerOp()-1) > 1e-6 {
				t.Fatalf("result %d takes %v s, want %v ns", n, got, b.PerOp())
			}
			if got, ok := rec.Value("allocs/op"); !ok || got != b.Metrics["allocs_per_op"] {
				t.Fatalf("result %d has %v allocations, want %v", n, got, b.Metrics["allocs_per_op"])
			}
			if _, ok := rec.Value("cache-misses/op"); ok {
				t.Fatal("a figure for what was not measured")
			}
			name := string(rec.Name.Full())
			for _, part := range []string{"Mkdir/", "/variant=", "/after=prefix", "/level="} {
				if !strings.Contains(name, part) {
					t.Fatalf("%s lacks %s", name, part)
				}
			}
			// The second place is tmpfs: it must not inherit the first one's device.
			switch rec.GetConfig("fs") {
			case "ext4":
				if got := rec.GetConfig("device"); got != "/dev/loop3" {
					t.Fatalf("device %q on ext4", got)
				}
			case "tmpfs":
				if got := rec.GetConfig("device"); got != "" {
					t.Fatalf("device %q on tmpfs", got)
				}
			default:
				t.Fatalf("fs %q", rec.GetConfig("fs"))
			}
		}
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	if n != len(want) || n == 0 {
		t.Errorf("%d results for %d timed blocks", n, len(want))
	}
}
