package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// recorded is a simulated run whose blocks have latencies and metrics.
func recorded(seed uint64, rounds int, ratio float64) *Run {
	r := simulated(seed, rounds, newDisk(seed, 0.05), ratio)
	for i := range r.Results[0].Blocks {
		b := &r.Results[0].Blocks[i]
		b.Latency = NewHistogram()
		b.Latency.Record(int64(b.PerOp()))
		b.Metrics = map[string]float64{"allocs_per_op": 3}
		b.Missing = map[string]Reason{"cache_misses_per_op": {Code: ReasonText, Text: "no counter"}}
	}
	return r
}

// writtenRun is a small run with everything in it that a file can hold.
func writtenRun(t testing.TB) []byte {
	r := recorded(1, 6, 1.2)
	for i := range r.Results[0].Blocks {
		r.Results[0].Blocks[i].Windows = []Window{{Len: 5, Ops: 2}}
	}
	r.Results[0].Blocks = append(r.Results[0].Blocks, Block{Variant: "a", Role: RoleCounted, Ops: 2, Syscalls: map[string]int64{"mkdirat": 14}})
	r.Analyse()
	var buf bytes.Buffer
	if err := r.Write(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	data := writtenRun(t)
	r, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := r.Write(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, again.Bytes()) {
		t.Error("a run comes back different")
	}
	if n := r.Results[0].Blocks[0].Latency.Count(); n != 1 {
		t.Errorf("the histogram comes back with %d values", n)
	}
}

func TestReadTakesARunWithoutResults(t *testing.T) {
	var buf bytes.Buffer
	if err := (&Run{Settings: Settings{Test: TestBootstrap}, Partial: &Partial{Cause: "cancelled"}}).Write(&buf); err != nil {
		t.Fatal(err)
	}
	r, err := Read(&buf)
	if err != nil || len(r.Results) != 0 || r.Partial == nil || r.Partial.Cause != "cancelled" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestReadRefuses(t *testing.T) {
	good := string(writtenRun(t))
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the run does not contain %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ data, want string }{
		"nothing":           {"", "the file is empty"},
		"half":              {good[:len(good)/2], "the file is cut off after"},
		"without its end":   {strings.TrimRight(good, "}\n"), "the file is cut off after"},
		"two runs":          {good + good, "not a Stele run"},
		"text":              {"BenchmarkX 1 2 ns/op\n", "not a Stele run"},
		"no schema":         {"{}", "it names no schema"},
		"another program's": {swap(Schema, "k6.run/1"), `not a Stele run: its schema is "k6.run/1"`},
		"newer":             {swap(Schema, "stele.run/3"), "written by a newer Stele"},
		"a list":            {"[]", "not a Stele run"},
		"schema only":       {`{"schema":"stele.run/1"}`, "the run has no results"},
		"no results":        {`{"schema":"stele.run/1","results":null}`, "the run has no results"},
		"null result":       {swap(`"results": [`, `"results": [ null,`), "result 0 has no id"},
		"no settings":       {`{"schema":"stele.run/1","results":[]}`, "Settings.Test: \"\"; want"},
		"tolerance":         {swap(`"tolerance": 0.05`, `"tolerance": -1`), "Settings.Tolerance: -1; want"},
		"place":             {swap(`"place": "disk"`, `"place": "moon"`), `from "moon", which is not among the places`},
		"variant":           {swap(`"variant": "b",`+"\n"+`     "role"`, `"variant": "x",`+"\n"+`     "role"`), `of "x", which is not among the variants`},
		"same names":        {swap(`"name": "b"`, `"name": "a"`), "has no name of its own"},
		"role":              {swap(`"role": "timed"`, `"role": "guessed"`), `unknown role "guessed"`},
		"round twice":       {swap(`"round": 2`, `"round": 1`), "in round 1"},
		"negative time":     {swap(`"wall_ns": `, `"wall_ns": -`), "negative figures"},
		"histogram":         {swap(`"hdr": "`, `"hdr": "A`), "decode a latency histogram"},
		"out of range":      {swap(`"out_of_range": 0`, `"out_of_range": -7`), "-7 values out of range"},
	} {
		r, err := Read(strings.NewReader(c.data))
		if err == nil || r != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a read error comes back as %v", err)
	}
}

// A histogram with other buckets would be merged into the wrong ones, and one
// with five digits takes megabytes.
func TestHistogramRefusesOtherGeometry(t *testing.T) {
	text, err := hdrhistogram.New(1, 1000, 3).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(histogramJSON{HDR: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, NewHistogram()); err == nil || !strings.Contains(err.Error(), "want 1 to 3600000000000 with 2") {
		t.Errorf("got %v", err)
	}
}

func TestHistogramRoundTrip(t *testing.T) {
	h := NewHistogram()
	for _, ns := range []int64{1, 250, 250, 90_000, 3_600_000_000_000, 0, -1, math.MaxInt64} {
		h.Record(ns)
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	back := NewHistogram()
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	if back.Count() != h.Count() || back.OutOfRange() != h.OutOfRange() || back.Quantile(0.5) != h.Quantile(0.5) || back.Max() != h.Max() {
		t.Errorf("%d values, %d out of range, median %v came back as %d, %d, %v",
			h.Count(), h.OutOfRange(), h.Quantile(0.5), back.Count(), back.OutOfRange(), back.Quantile(0.5))
	}
}

// Whatever Read accepts can be analysed, written and read again.
func FuzzRead(f *testing.F) {
	good := writtenRun(f)
	f.Add(good)
	f.Add(good[:len(good)/3])
	f.Add([]byte(`{"schema":"stele.run/1","settings":{"test":"welch"},"results":[]}`))
	f.Add([]byte(`{"schema":"stele.run/1","settings":{"test":"bootstrap"},"places":[{"name":"p"}],"results":[{"id":"x","place":"p",` +
		`"variants":[{"name":"a","promise":{"level":"kill","after_crash":"prefix"}},{"name":"b","promise":{"level":"power","after_crash":"torn"}}],` +
		`"blocks":[{"variant":"a","role":"timed","round":1,"ops":3,"wall_ns":9,"metrics":{"m":1e308}},{"variant":"b","role":"calibration"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(bytes.NewReader(data))
		if err != nil {
			if r != nil {
				t.Fatal("a run together with an error")
			}
			return
		}
		r.Analyse()
		compareTwo(r, r, CompareOptions{})
		var buf bytes.Buffer
		if err := r.Write(&buf); err != nil {
			t.Fatalf("an accepted run cannot be written: %v", err)
		}
		if _, err := Read(&buf); err != nil {
			t.Fatalf("a written run cannot be read: %v", err)
		}
	})
}

// The decoder of the histograms is the only one here that is not encoding/json.
func FuzzHistogram(f *testing.F) {
	h := NewHistogram()
	for ns := range int64(2000) {
		h.Record(ns * ns)
	}
	text, err := json.Marshal(h)
	if err != nil {
		f.Fatal(err)
	}
	var j histogramJSON
	if err := json.Unmarshal(text, &j); err != nil {
		f.Fatal(err)
	}
	f.Add(j.HDR, j.OutOfRange)
	f.Add("", int64(0))
	f.Add("HISTFAAAAAA=", int64(1))
	f.Fuzz(func(t *testing.T, hdr string, out int64) {
		data, err := json.Marshal(histogramJSON{HDR: hdr, OutOfRange: out})
		if err != nil {
			t.Fatal(err)
		}
		h := NewHistogram()
		if json.Unmarshal(data, h) != nil {
			return
		}
		sum := NewHistogram()
		sum.Merge(h)
		sum.Quantile(0.99)
		sum.Cumulative()
		if sum.Count()+sum.OutOfRange() < h.Count() {
			t.Errorf("%d values became %d and %d out of range", h.Count(), sum.Count(), sum.OutOfRange())
		}
		if _, err := json.Marshal(sum); err != nil {
			t.Error(err)
		}
	})
}
