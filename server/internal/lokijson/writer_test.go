package lokijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWriterNests(t *testing.T) {
	var out bytes.Buffer
	w := New(&out)
	w.BeginObject()
	w.Name("status")
	w.String("success")
	w.Name("data")
	w.BeginArray()
	w.Sample(1700000000_500_000_000, 1.5)
	w.Sample(1700000001_000_000_000, math.Inf(1))
	w.BeginArray()
	w.Nanos(1700000000123456789)
	w.String("a \"line\"\n")
	w.EndArray()
	w.BeginObject()
	w.EndObject()
	w.EndArray()
	w.Name("more")
	w.Strings([]string{"a", "b"})
	w.Name("n")
	w.Int(-7)
	w.Name("f")
	w.Float(0.25)
	w.Name("nan")
	w.Float(math.NaN())
	w.Name("ok")
	w.Bool(true)
	w.Name("raw")
	w.Raw("null")
	w.EndObject()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `{"status":"success","data":[[1700000000.5,"1.5"],[1700000001,"+Inf"],["1700000000123456789","a \"line\"\n"],{}],` +
		`"more":["a","b"],"n":-7,"f":0.25,"nan":0,"ok":true,"raw":null}`
	if out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
	if w.Written() != int64(len(want)) {
		t.Errorf("Written is %d; want %d", w.Written(), len(want))
	}
}

func TestAppendValue(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 1.5, 1e21, -1e300, 1e-7, 0.1, 1 << 53, 1<<53 + 2, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1234567.875} {
		got := string(AppendValue(nil, v))
		if want := strconv.FormatFloat(v, 'f', -1, 64); got != want {
			t.Errorf("%v: %s; want %s", v, got, want)
		}
	}
}

func TestAppendSeconds(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0", 1e9: "1", 1_500_000_000: "1.5", 1_050_000_000: "1.05", 1_001_999_999: "1.001",
		1700000000_120_000_000: "1700000000.12", 999_999: "0", -1_500_000_000: "-1.5",
	} {
		if got := string(AppendSeconds(nil, ns)); got != want {
			t.Errorf("%d: %s; want %s", ns, got, want)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\x1f\"\\/", "ü\u2028\u2029\ufffd", "\xff\xfe a \xe2\x80", "\U0001f600\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q: %s: %v", s, text, err)
		}
		want := s
		if !utf8.ValidString(s) {
			standard, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(standard, &want); err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Errorf("%q is read as %q; want %q", s, got, want)
		}
	})
}

type failing struct{ n int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) { f.n++; return 0, errFull }

func TestWriterKeepsTheFirstError(t *testing.T) {
	f := &failing{}
	w := New(f)
	for range 10 {
		w.String(strings.Repeat("x", bufferSize))
	}
	if err := w.Flush(); !errors.Is(err, errFull) || f.n != 1 {
		t.Errorf("error %v after %d writes; want %v after 1", err, f.n, errFull)
	}
	if cap(w.buf) > 3*bufferSize {
		t.Errorf("the buffer grew to %d bytes", cap(w.buf))
	}
}

func writeLines(w *Writer, line string) {
	for i := range int64(100) {
		w.BeginArray()
		w.Nanos(1700000000123456789 + i)
		w.String(line)
		w.EndArray()
	}
}

func TestWriterAllocatesNothing(t *testing.T) {
	w := New(io.Discard)
	if n := testing.AllocsPerRun(100, func() { writeLines(w, "a \"line\" of text") }); n > 0 {
		t.Errorf("%v allocations for 100 lines; want none", n)
	}
}

const benchLine = `level=info ts=2024-05-01T10:00:00.123Z caller=http.go:123 msg="request done" method=GET path=/api/v1/things/4711 status=200 duration=12.5ms bytes=5123`

func BenchmarkLines(b *testing.B) {
	b.Run("writer=lokijson", func(b *testing.B) {
		w := New(io.Discard)
		for b.Loop() {
			writeLines(w, benchLine)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/line")
	})
	b.Run("writer=encoding-json", func(b *testing.B) {
		e := json.NewEncoder(io.Discard)
		for b.Loop() {
			for i := range int64(100) {
				if err := e.Encode([2]string{strconv.FormatInt(1700000000123456789+i, 10), benchLine}); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/line")
	})
}
