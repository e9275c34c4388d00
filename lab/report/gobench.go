package report

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stele-go/stele/lab/run"
)

// GoBench writes one line a timed block in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), which benchstat reads.
// Blocks that failed, and those that were never data (pilots, calibration,
// counted system calls), are left out; so are figures that were not measured.
func GoBench(w io.Writer, r *run.Run) error {
	g := &goBench{w: bufio.NewWriter(w), config: map[string]string{}}
	// A comment, not configuration: benchstat compares only what agrees in its
	// configuration, and two runs never agree in these.
	fmt.Fprintf(g.w, "# Stele %s, seed %d, started %s\n", clean(r.Version), r.Seed, r.Started.UTC().Format(time.RFC3339))
	if r.Partial != nil {
		fmt.Fprintf(g.w, "# partial run: %s\n", Partial(r.Partial))
	}
	for _, place := range placesOf(r) {
		for _, res := range r.Results {
			if res.Place == place.Name {
				g.result(r, place, res)
			}
		}
	}
	return g.w.Flush()
}

// placesOf lists the places of the run, and those that only results name.
func placesOf(r *run.Run) []run.Place {
	out := append([]run.Place(nil), r.Places...)
	seen := map[string]bool{}
	for _, p := range out {
		seen[p.Name] = true
	}
	for _, res := range r.Results {
		if !seen[res.Place] {
			seen[res.Place] = true
			out = append(out, run.Place{Name: res.Place})
		}
	}
	return out
}

type goBench struct {
	w      *bufio.Writer
	config map[string]string // as last written
}

// set writes a configuration line where the value changed. A key without a
// value takes the key back, so that no block inherits another place's disk.
func (g *goBench) set(key, value string) {
	value = strings.TrimSpace(clean(value))
	if g.config[key] == value {
		return
	}
	g.config[key] = value
	fmt.Fprintln(g.w, strings.TrimSpace(key+": "+value))
}

func (g *goBench) result(r *run.Run, place run.Place, res *run.Result) {
	e := place.Environment
	g.set("goos", e.OS)
	g.set("goarch", e.Arch)
	g.set("pkg", res.Suite)
	g.set("cpu", e.CPU)
	g.set("go", e.Go)
	g.set("kernel", e.Kernel)
	g.set("place", place.Name)
	g.set("fs", e.FS)
	g.set("journal", e.Journal)
	g.set("device", e.Device)
	g.set("mount-options", e.Options)
	variants := map[string]*run.VariantResult{}
	for i := range res.Variants {
		variants[res.Variants[i].Name] = &res.Variants[i]
	}
	for i := range res.Blocks {
		b := &res.Blocks[i]
		v := variants[b.Variant]
		if b.Role != run.RoleTimed || b.Error != "" || b.Ops <= 0 || v == nil {
			continue
		}
		fmt.Fprintf(g.w, "%s\t%d\t%s ns/op", benchName(res, v, e.GOMAXPROCS), b.Ops, benchValue(b.PerOp()))
		for _, f := range benchUnits(b) {
			fmt.Fprintf(g.w, "\t%s %s", benchValue(f.value), f.unit)
		}
		fmt.Fprintln(g.w)
	}
}

// benchName is "BenchmarkMkdir/depth/depth=4/variant=os.MkdirAll/after=prefix/level=kill-2".
func benchName(res *run.Result, v *run.VariantResult, procs int) string {
	parts := []string{"Benchmark" + upperName(benchWord(res.Suite)), benchWord(res.Name)}
	keys := make([]string, 0, len(res.Params))
	for k := range res.Params {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		parts = append(parts, benchWord(k)+"="+benchWord(res.Params[k]))
	}
	parts = append(parts, "variant="+benchWord(v.Name))
	if v.Promise.Writes() { // what writes nothing has no level that benchstat could group it with
		parts = append(parts, "after="+here(v).After.String(), "level="+here(v).Level.String())
	}
	name := strings.Join(parts, "/")
	if procs > 0 {
		name += "-" + strconv.Itoa(procs)
	}
	return name
}

// benchWord makes s one part of a name: no spaces, no slashes.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
}

// upperName because a benchmark's name must not go on in lower case.
func upperName(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if u := unicode.ToUpper(r); unicode.IsUpper(u) {
		return string(u) + s[n:]
	}
	return "X" + s
}

func benchValue(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

type benchFigure struct {
	value float64
	unit  string
}

// benchUnits are the metrics of a block under the units that Go's own
// benchmarks use where there are such, else named after the metric.
func benchUnits(b *run.Block) []benchFigure {
	var out []benchFigure
	seen := map[string]bool{}
	add := func(name string) {
		x, ok := b.Metrics[name]
		if !ok || seen[name] || !known(x) {
			return
		}
		seen[name] = true
		out = append(out, benchFigure{x, benchUnit(name)})
	}
	for _, m := range run.Metrics() {
		add(m.Name)
	}
	var own []string
	for name := range b.Metrics {
		own = append(own, name)
	}
	sort.Strings(own)
	for _, name := range own {
		add(name)
	}
	return out
}

// benchUnit names the unit of a metric; a unit has no spaces.
func benchUnit(name string) string {
	switch name {
	case allocsPerOp:
		return "allocs/op"
	case "alloc_bytes_per_op":
		return "B/op"
	case "bytes_per_second":
		return "B/s"
	}
	base, perOp := strings.CutSuffix(name, "_per_op")
	unit := strings.ReplaceAll(benchWord(base), "_", "-")
	if perOp {
		unit += "/op"
	}
	return unit
}
