package claims

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL2(t *testing.T) {
	c := claimL2()
	of := func(handed, written float64, misses func(v string) (run.Estimate, bool)) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			l2Lock: 1200, l2Unbuffered: 1200,
			"L2-handed/" + l2Ring: 1200 / handed, "L2-written/" + l2Ring: 1200 / written,
		}))
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			if e, ok := misses(v.Name); ok {
				v.Metrics["cache_misses_per_op"] = e
				return
			}
			v.Missing = map[string]string{"cache_misses_per_op": "this processor has no such counter"}
		}))
	}
	uncounted := func(string) (run.Estimate, bool) { return noEstimate, false }
	counted := func(fewer float64) func(string) (run.Estimate, bool) {
		return func(v string) (run.Estimate, bool) {
			if v == l2Ring {
				return suitetest.About(8 / fewer), true
			}
			return suitetest.About(8), true
		}
	}
	expect(t, "as claimed", of(14, 14, counted(9)), Holds)
	got := of(14, 14, uncounted)
	expect(t, "as claimed, without a counter", got, Holds)
	if !strings.Contains(got.Measured, "no such counter") || !strings.Contains(got.Why, "hardware counter") {
		t.Errorf("the missing counter is not told: %s; %s", got.Measured, got.Why)
	}
	expect(t, "no faster", of(2, 0.7, uncounted), DoesNotHold)
	expect(t, "handed over only", of(14, 0.7, uncounted), Depends)
	expect(t, "as fast, and as many misses", of(14, 14, counted(1)), Depends)
	expect(t, "on the limit", of(1200./86*(1-slack), 14, uncounted), CannotTest)
}

func TestJudgeL3(t *testing.T) {
	c := claimL3()
	of := func(due, call, rate, collections float64) run.Claim {
		m := in("d", "ext4").all(&c, func(_ *lab.Experiment, v string) float64 {
			if v == fromPool {
				return 1e5 / rate
			}
			return 1e5
		})
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			gain, gainCall, gc := 1., 1., 1000.
			if v.Name == fromPool {
				gain, gainCall, gc = due, call, 1000/collections
			}
			v.Metrics["line_mean_ns"] = suitetest.About(4e6 / gain)
			v.Metrics["call_mean_ns"], v.Metrics["call_p99_ns"] = suitetest.About(4e3/gainCall), suitetest.About(9e3)
			v.Metrics["lines_per_second"], v.Metrics["gc_count"] = suitetest.About(9990), suitetest.About(gc)
			r.Blocks = append(r.Blocks, run.Block{Variant: v.Name, Role: run.RoleTimed, Ops: 2})
		}))
	}
	got := of(2.4, 2.4, 1.7, 10)
	expect(t, "as claimed", got, Holds)
	if !strings.Contains(got.Measured, "30000 collections a minute") || !strings.Contains(got.Why, "blocks of 2 s") {
		t.Errorf("1000 collections in 2 s: %s; %s", got.Measured, got.Why)
	}
	expect(t, "nothing", of(1, 1, 1, 1), DoesNotHold)
	expect(t, "fewer collections only", of(1, 1, 1, 50), Depends)
	expect(t, "on the limit", of(4.2/1.8*(1-slack), 2.4, 1.7, 10), CannotTest)
}

func TestJudgeL4(t *testing.T) {
	c := claimL4()
	of := func(times, sizes map[string]float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(times))
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["bytes_per_record"] = suitetest.About(sizes[v.Name])
		}))
	}
	slow := map[string]float64{l4Own: 80, l4Binary: 400, l4Head: 400, l4GobEach: 4000, l4GobStream: 4000}
	large := map[string]float64{l4Own: 984, l4Binary: 1032, l4Head: 1032, l4GobEach: 1372, l4GobStream: 1372}
	expect(t, "as claimed", of(slow, large), Holds)
	same := map[string]float64{l4Own: 80, l4Binary: 80, l4Head: 80, l4GobEach: 80, l4GobStream: 80}
	// Of sizes alike binary's is within the claim's slack.
	small := map[string]float64{l4Own: 1000, l4Binary: 900, l4Head: 900, l4GobEach: 1000, l4GobStream: 1000}
	expect(t, "alike", of(same, small), DoesNotHold)
	expect(t, "as coded only", of(map[string]float64{l4Own: 80, l4Binary: 400, l4Head: 400, l4GobEach: 4000, l4GobStream: 300}, large), Depends)
	expect(t, "on the limit", of(slow, map[string]float64{l4Own: 984, l4Binary: 1032 * (1 - slack), l4Head: 1032, l4GobEach: 1372, l4GobStream: 1372}), CannotTest)
}

func TestJudgeL5(t *testing.T) {
	c := claimL5(1)
	of := func(whole, in4K float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1 })
		return judge(t, &c, m.each(func(r *run.Result, v *run.VariantResult) {
			gain := 1.0
			if v.Name != l5Read {
				gain = map[string]float64{"L5-block": whole, "L5-in-block": in4K}[r.Name]
			}
			v.Metrics["read_p50_ns"], v.Metrics["read_p99_ns"] = suitetest.About(42700/gain), suitetest.About(218500/gain)
		}))
	}
	expect(t, "as claimed", of(3.5, 3.5), Holds)
	expect(t, "alike", of(1, 1.2), DoesNotHold)
	expect(t, "whole blocks only", of(4, 1), Depends)
	expect(t, "median only", of(2.5, 2.5), Depends)
	expect(t, "on the limit", of(218.5/64.1*(1-slack), 3.5), CannotTest)
}

func TestJudgeL6(t *testing.T) {
	c := claimL6(1)
	of := func(quicker, missesOfB float64) run.Claim {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e9 })
		m.place.Environment.Device = "/dev/sda"
		return judge(t, &c, m.sized(l6File).each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["read_mean_ns"], v.Metrics["hit_share"] = suitetest.About(14200), suitetest.Wide(0.92, 0.001)
			if v.Name == l6One || v.Name == l6Goroutines {
				v.Metrics["read_mean_ns"], v.Metrics["hit_share"] = suitetest.About(14200*quicker), suitetest.Wide(1-missesOfB, 0.001)
			}
		}))
	}
	expect(t, "as claimed", of(1.4, 0.15), Holds)
	expect(t, "no better", of(0.8, 0.08), DoesNotHold)
	expect(t, "quicker only", of(1.5, 0.08), Depends)
	expect(t, "on the limit", of(18.9/14.2*(1-slack), 0.15), CannotTest)
}

func TestJudgeL8(t *testing.T) {
	c := claimL8(1)
	of := func(faster, hits, waste func(load string) float64) run.Claim {
		m := in("d", "ext4").all(&c, func(e *lab.Experiment, v string) float64 {
			if v == l8Follows {
				return 1e6 / faster(e.Params["load"])
			}
			return 1e6
		})
		return judge(t, &c, m.sized(l8File).each(func(r *run.Result, v *run.VariantResult) {
			load := r.Params["load"]
			v.Metrics["hit_share"], v.Metrics["wasted_share"] = suitetest.About(0.5), suitetest.About(0.5)
			if v.Name == l8Follows {
				v.Metrics["hit_share"], v.Metrics["wasted_share"] = suitetest.About(0.5*hits(load)), suitetest.About(0.5/waste(load))
			}
		}))
	}
	is := func(x float64) func(string) float64 { return func(string) float64 { return x } }
	inRuns := func(yes, no float64) func(string) float64 {
		return func(load string) float64 {
			if load == l8Runs {
				return yes
			}
			return no
		}
	}
	expect(t, "as claimed", of(is(3), is(1.5), is(5)), Holds)
	expect(t, "nothing", of(is(1), is(1), is(1)), DoesNotHold)
	expect(t, "where there is a pattern", of(inRuns(3, 1), inRuns(1.5, 1), inRuns(5, 1)), Depends)
	expect(t, "on the limit", of(is(8.7/3.2*(1-slack)), is(1.5), is(5)), CannotTest)
}

func TestJudgeL11(t *testing.T) {
	c := claimL11(1)
	of := func(coded, meant float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(map[string]float64{
			l11Reader: 8.2e9, l11First: 8.2e9 / coded, l11Pieces: 8.2e9 / meant,
		}))
		return judge(t, &c, m.sized(l11File).each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["parsed_share"] = suitetest.About(1)
			if v.Name == l11First {
				v.Metrics["parsed_share"] = suitetest.About(0.087)
			}
		}))
	}
	expect(t, "as claimed", of(20, 20), Holds)
	expect(t, "no faster", of(10, 1), DoesNotHold)
	got := of(25, 1.1)
	expect(t, "by leaving most of it out", got, Depends)
	if !strings.Contains(got.Measured, "parsed 9 % of the log") {
		t.Errorf("what was left out is not told: %s", got.Measured)
	}
	expect(t, "on the limit", of(20*(1-slack), 20), CannotTest)
}

// Every codec gives back what was put in, several records in a row.
func TestL4CodecsReadWhatTheyWrite(t *testing.T) {
	for name, open := range l4Codecs() {
		codec, buf := open(), new(bytes.Buffer)
		for i := range int64(3) {
			r := l4Sample(i << 40)
			if err := codec.encode(buf, &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		src := bytes.NewReader(buf.Bytes())
		for i := range int64(3) {
			var got l4Record
			if err := codec.decode(src, &got); err != nil || got != l4Sample(i<<40) {
				t.Errorf("%s: record %d is not the one that was written (%v)", name, i, err)
			}
		}
		if err := codec.decode(src, new(l4Record)); err == nil {
			t.Errorf("%s read a record after the last", name)
		}
	}
}

func TestL4OwnLayoutNoticesDamage(t *testing.T) {
	r := l4Sample(7)
	whole := r.appendTo(nil)
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x40
		if err := new(l4Record).parse(damaged); !errors.Is(err, errL4) {
			t.Fatalf("a flipped bit in byte %d of %d: %v", i, len(whole), err)
		}
	}
	for n := range whole {
		if err := new(l4Record).parse(whole[:n]); !errors.Is(err, errL4) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// All parsers that promise the whole log find the same in it.
func TestParsersOfLogAgree(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	if err := datafile.Write(name, 2*datafile.MiB, logLines()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var want logCount
	for _, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		want.add(line)
	}
	if want.bytes != 2*datafile.MiB || want.errors < want.lines/10 || want.lines < 10_000 {
		t.Fatalf("the log is %+v", want)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		name  string
		parse func(*os.File, int64) (logCount, error)
		piece int64
		whole bool
	}{
		{l11Reader, parseByReader, 0, true},
		{l11Pieces, parsePieces, 100_000, true},
		{l11Pieces, parsePieces, datafile.MiB, true},
		{l11Pieces, parsePieces, 16 * datafile.MiB, true},
		{l11First, parseFirst, 100_000, false},
		{l11First, parseFirst, 16 * datafile.MiB, true},
	} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := c.parse(f, c.piece)
		if err != nil || (got == want) != c.whole {
			t.Errorf("%s of %d: %+v, %v; the log has %+v", c.name, c.piece, got, err, want)
		}
		if !c.whole && (got.bytes > c.piece || got.bytes < c.piece-300) {
			t.Errorf("%s of %d parsed %d bytes", c.name, c.piece, got.bytes)
		}
	}
}

// What several goroutines log through the ring is in the file, whole and once.
func TestRingSinkLosesNothing(t *testing.T) {
	e := l2(4, false)
	dir := t.TempDir()
	for _, name := range []string{l2Ring, l2Lock, l2Unbuffered} {
		if _, err := lab.RunOnce(t.Context(), &e, e.Variant(name), dir, 1000, 7); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || !bytes.Equal(text, bytes.Repeat(headers.Head(l2Line), 1000)) {
			t.Errorf("%s: %d bytes are not 1,000 lines of 128 (%v)", name, len(text), err)
		}
	}
}
