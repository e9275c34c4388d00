package lokipush

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var testLimits = Limits{Streams: 5, Entries: 50, Labels: 3, LabelName: 20, LabelValue: 30, Metadata: 3, MetadataBytes: 100}

// The encoders of a client.

func field(b []byte, n int, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<3|wireBytes)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

func number(b []byte, n int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(n)<<3), v)
}

func protoEntry(time int64, line string, metadata ...string) []byte {
	e := field(nil, 1, number(number(nil, 1, uint64(time/1e9)), 2, uint64(time%1e9)))
	e = field(e, 2, []byte(line))
	for p := range slices.Chunk(metadata, 2) {
		e = field(e, 3, field(field(nil, 1, []byte(p[0])), 2, []byte(p[1])))
	}
	return e
}

func protoStream(labels string, entries ...[]byte) []byte {
	s := field(nil, 1, []byte(labels))
	for _, e := range entries {
		s = field(s, 2, e)
	}
	return number(s, 3, 77)
}

func protoPush(streams ...[]byte) (b []byte) {
	for _, s := range streams {
		b = field(b, 1, s)
	}
	return b
}

// text shows what was decoded.
func text(d *Decoder) string {
	var b strings.Builder
	for _, s := range d.Batch() {
		for _, e := range s.Entries {
			if e.Time != RefusedTime {
				fmt.Fprintf(&b, "%v %d %q %v\n", s.Labels, e.Time, e.Line, e.Metadata)
			}
		}
	}
	for _, r := range d.Refused().List {
		fmt.Fprintf(&b, "refused %s: %d from %d: %v\n", r.Labels, r.Entries, r.Time, r.Err)
	}
	return b.String()
}

func TestDecode(t *testing.T) {
	long := strings.Repeat("v", 31)
	for _, c := range []struct {
		name, json string // JSON has quotes as '
		proto      []byte
		want       string
	}{
		{"one", `{'streams':[{'stream':{'app':'api'},'values':[['1500','a line']]}]}`,
			protoPush(protoStream(`{app="api"}`, protoEntry(1500, "a line"))),
			"{app=\"api\"} 1500 \"a line\" {}\n"},
		{"two streams, metadata", `{'streams':[{'stream':{'b':'2','a':'1'},'values':[['1','x',{'k':'v','t':''}],['2','',{}]]}, {'stream':{'c':'é'},'values':[['3','y']]}]}`,
			protoPush(protoStream(`{b="2", a="1"}`, protoEntry(1, "x", "k", "v", "t", ""), protoEntry(2, "")), protoStream(`{c="é"}`, protoEntry(3, "y"))),
			"{a=\"1\", b=\"2\"} 1 \"x\" {k=\"v\"}\n{a=\"1\", b=\"2\"} 2 \"\" {}\n{c=\"é\"} 3 \"y\" {}\n"},
		{"refused streams", `{'streams':[{'stream':{},'values':[['7','x'],['8','y']]},{'stream':{'a':'` + long + `'},'values':[['9','x']]},{'stream':{'a':'1','b':'1','c':'1','d':'1'},'values':[['9','x']]},{'stream':{'a':'1'},'values':[['1','kept']]}]}`, nil,
			"{a=\"1\"} 1 \"kept\" {}\nrefused {}: 2 from 7: error at least one label pair is required per stream\nrefused {\"a\":\"" + long +
				"\"}: 1 from 9: the value of label \"a\" has 31 bytes; want at most 30\nrefused {\"a\":\"1\",\"b\":\"1\",\"c\":\"1\",\"d\":\"1\"}: 1 from 9: the stream has 4 labels; want at most 3\n"},
		{"refused metadata", "", protoPush(protoStream(`{a="1"}`, protoEntry(1, "x", "a", "1", "b", "2", "c", "3", "d", "4"), protoEntry(2, "y", "a", strings.Repeat("m", 100)), protoEntry(3, "mended", "a", "1", "a", "2\xff", "", "x"), protoEntry(4, "kept", "a", "1"), protoEntry(5, "kept", "a", "1"))),
			"{a=\"1\"} 3 \"mended\" {a=\"2\uFFFD\"}\n{a=\"1\"} 4 \"kept\" {a=\"1\"}\n{a=\"1\"} 5 \"kept\" {a=\"1\"}\nrefused {a=\"1\"}: 1 from 1: the entry has 4 names of metadata; want at most 3\nrefused {a=\"1\"}: 1 from 2: the entry has 101 bytes of metadata; want at most 100\n"},
		{"names", `{'streams':[{'stream':{'a.b':'1'},'values':[['9','x']]},{'stream':{'1a':'1'},'values':[]},{'stream':{'_a1':'1'},'values':[['1','kept']]}]}`, nil,
			"{_a1=\"1\"} 1 \"kept\" {}\nrefused {\"a.b\":\"1\"}: 1 from 9: couldn't parse labels: \"a.b\" is no name; want letters, digits and _, with no digit in front\n" +
				"refused {\"1a\":\"1\"}: 0 from 0: couldn't parse labels: \"1a\" is no name; want letters, digits and _, with no digit in front\n"},
		{"escapes", `{'streams':[{'stream':{'a':'\u00e9'},'values':[['1','q\'\\\/\b\f\n\r\t\u0041\ud83d\ude00\ud83d a long tail that goes on and \n on']]}]}`, nil,
			"{a=\"é\"} 1 \"q\\\"\\\\/\\b\\f\\n\\r\\tA😀\uFFFD a long tail that goes on and \\n on\" {}\n"},
		{"values before labels", `{'x':[1,{'y':null}],'streams':[{'values':[['1','a\nb']],'z':true,'stream':{'a':'1'}}]}`, nil, "{a=\"1\"} 1 \"a\\nb\" {}\n"},
		{"legacy", `{'streams':[{'labels':'{a=\'1\'}','entries':[{'ts':'2026-01-05T08:00:00.5Z','line':'x'},{'line':'y','timestamp':'5','structuredMetadata':{'k':'v'}}]}]}`, nil,
			"{a=\"1\"} 1767600000500000000 \"x\" {}\n{a=\"1\"} 5 \"y\" {k=\"v\"}\n"},
		{"nothing", `{'streams':[]}`, protoPush(), ""},
		{"nothing, null", `{'streams':null}`, protoPush(protoStream(`{a="1"}`)), ""},
		{"far times", `{'streams':[{'stream':{'a':'1'},'values':[['9223372036854775807','x'],[-1,'y']]}]}`, nil,
			fmt.Sprintf("{a=\"1\"} %d \"x\" {}\n{a=\"1\"} -1 \"y\" {}\n", int64(math.MaxInt64))},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Get(testLimits, NewCache(1<<20, nil, false), nil)
			defer d.Release()
			for range 2 { // the second time from the cache, and in a used decoder
				if c.json != "" {
					if err := d.JSON([]byte(strings.ReplaceAll(strings.ReplaceAll(c.json, `\'`, `\"`), "'", `"`))); err != nil {
						t.Fatal(err)
					}
					if got := text(d); got != c.want {
						t.Errorf("JSON: got\n%swant\n%s", got, c.want)
					}
				}
				if c.proto != nil {
					if err := d.Protobuf(c.proto); err != nil {
						t.Fatal(err)
					}
					if got := text(d); got != c.want {
						t.Errorf("protobuf: got\n%swant\n%s", got, c.want)
					}
				}
			}
		})
	}
}

func TestBroken(t *testing.T) {
	d := Get(testLimits, NewCache(1<<20, nil, false), nil)
	defer d.Release()
	for _, body := range []string{
		"", "x", "[]", `{`, `{"streams"`, `{"streams":`, `{"streams":[`, `{"streams":[{`, `{"streams":[{"stream":{"a":1},"values":[]}`, `{"streams":[{"stream":[]}]}`,
		`{"streams":[{"stream":{"a":"1"},"values":[["1"]]}]}`, `{"streams":[{"stream":{"a":"1"},"values":[["x","y"]]}]}`, `{"streams":[{"stream":{"a":"1"},"values":[[1.5,"y"]]}]}`,
		`{"streams":[{"stream":{"a":"1"},"values":[["1","y",{"k":1}]]}]}`, `{"streams":[{"stream":{"a":"1"},"values":[["1","y",{},1]]}]}`,
		"{\"streams\":[{\"stream\":{\"a\":\"1\"},\"values\":[[\"1\",\"a\nb\"]]}]}", `{"streams":[{"stream":{"a":"1"},"values":[["1","\x"]]}]}`, `{"streams":[{"stream":{"a":"1"},"values":[["1","\u12"]]}]}`,
		`{"streams":[]} x`, `{"streams":[{"stream":{"a":"1"},"values":[["1","y"]],"values":[["2","z"]]}]}`, `{"streams":[{"values":[["1","y"]],"entries":[],"stream":{"a":"1"}}]}`, `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		`{"streams":[` + strings.Repeat(`{"stream":{"a":"1"},"values":[["1","y"]]},`, 5) + `{"stream":{"a":"1"},"values":[["1","y"]]}]}`,
	} {
		err := d.JSON([]byte(body))
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%s: %v", body, err)
		}
	}
	whole := protoPush(protoStream(`{a="1"}`, protoEntry(1, "x", "k", "v")))
	for n := 1; n < len(whole); n++ {
		if err := d.Protobuf(whole[:n]); err == nil {
			t.Errorf("%d bytes of %d are taken for whole", n, len(whole))
		}
	}
	many := make([][]byte, 51)
	for i := range many {
		many[i] = protoEntry(1, "x")
	}
	for _, body := range [][]byte{{0}, {0x0b}, {0x0a, 0x80}, protoPush(protoStream(`{a="1"}`, many...))} {
		if err := d.Protobuf(body); err == nil {
			t.Errorf("%x is taken", body)
		}
	}
}

func TestOffsets(t *testing.T) {
	d := Get(testLimits, NewCache(1<<20, nil, false), nil)
	defer d.Release()
	with := func(e []byte, offset uint64) []byte { return number(e, offsetField, offset) }
	body := protoPush(protoStream(`{a="1"}`, with(protoEntry(1, "x"), 10), with(protoEntry(2, "refused", "a", "1", "b", "2", "c", "3", "d", "4"), 20), with(protoEntry(3, "y"), 300)))
	if err := d.Protobuf(body); err != nil || !slices.Equal(d.Offsets(), []uint64{10, 20, 300}) {
		t.Error(d.Offsets(), err)
	}
	body = protoPush(protoStream(`{a="1"}`, with(protoEntry(1, "x"), 10)), protoStream(`{`, with(protoEntry(1, "refused"), 11)), protoStream(`{a="1"}`, with(protoEntry(3, "y"), 12)))
	if err := d.Protobuf(body); err != nil || !slices.Equal(d.Offsets(), []uint64{10, 11, 12}) {
		t.Error(d.Offsets(), err)
	}
	if err := d.Protobuf(protoPush(protoStream(`{a="1"}`, with(protoEntry(1, "x"), 10), protoEntry(3, "y")))); err != nil || d.Offsets() != nil {
		t.Error(d.Offsets(), err)
	}
}

func TestService(t *testing.T) {
	c := NewCache(1<<20, []string{"service", "app"}, false)
	for text, want := range map[string]string{
		`{app="a"}`: "a", `{app="a", service="b"}`: "b", `{x="y"}`: "unknown_service", `{service_name="own", app="a"}`: "own",
	} {
		set, err := c.get(formText, []byte(text), &testLimits)
		if got := set.Labels.Get(serviceName); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// The cache stays within its bytes, and keeps what is used.
func TestCache(t *testing.T) {
	const most = 20_000
	c := NewCache(most, nil, false)
	for i := range 10_000 {
		for _, text := range []string{`{often="used"}`, fmt.Sprintf(`{n="%d"}`, i)} {
			if _, err := c.get(formText, []byte(text), &testLimits); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := c.Len(); n > most/setCost || n < most/setCost/4 {
		t.Error(n, "sets")
	}
	if _, ok := c.young[formText][`{often="used"}`]; !ok {
		if _, ok := c.old[formText][`{often="used"}`]; !ok {
			t.Error("what is often used is forgotten")
		}
	}
}

// A decoder allocates nothing in the steady state.
func TestAllocations(t *testing.T) {
	c := NewCache(1<<20, nil, false)
	limits := testLimits
	limits.Entries = 1000
	var entries [][]byte
	var values []string
	for i := range 1000 {
		entries = append(entries, protoEntry(int64(i), "a line of some length that is not copied", "k", "the same"))
		values = append(values, `["`+strconv.Itoa(i)+`","a line of some \"length\" that is not copied"]`)
	}
	proto, json := protoPush(protoStream(`{a="1"}`, entries...)), `{"streams":[{"stream":{"a":"1"},"values":[`+strings.Join(values, ",")+`]}]}`
	body := make([]byte, len(json))
	d := Get(limits, c, nil)
	defer d.Release()
	allocs := testing.AllocsPerRun(50, func() {
		if d.Protobuf(proto) != nil || len(d.Batch()[0].Entries) != 1000 {
			t.Fatal("not decoded")
		}
		copy(body, json)
		if err := d.JSON(body); err != nil || len(d.Batch()[0].Entries) != 1000 {
			t.Fatal("not decoded", err)
		}
	})
	if allocs > 20 { // the metadata, once a push, and little else
		t.Errorf("%v allocations for 2,000 entries", allocs)
	}
}

func BenchmarkDecode(b *testing.B) {
	limits := Limits{Streams: 100, Entries: 10_000, Labels: 10, LabelName: 100, LabelValue: 100, Metadata: 10, MetadataBytes: 1000}
	line := strings.Repeat("level=info msg=\"a line\" ", 6)[:140]
	var entries [][]byte
	var values []string
	for i := range 1000 {
		entries = append(entries, protoEntry(int64(i)+1.7e18, line))
		values = append(values, fmt.Sprintf(`["%d",%q]`, int64(i)+1.7e18, line))
	}
	proto, json := protoPush(protoStream(`{a="1"}`, entries...)), `{"streams":[{"stream":{"a":"1"},"values":[`+strings.Join(values, ",")+`]}]}`
	d := Get(limits, NewCache(1<<20, nil, false), nil)
	b.Run("form=protobuf", func(b *testing.B) {
		b.SetBytes(1000)
		for b.Loop() {
			if err := d.Protobuf(proto); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("form=json", func(b *testing.B) {
		b.SetBytes(1000)
		body := make([]byte, len(json))
		for b.Loop() {
			copy(body, json)
			if err := d.JSON(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Each entry has its level: that of its stream, of its metadata or of its line.
func TestLevels(t *testing.T) {
	d := Get(testLimits, NewCache(1<<20, nil, true), nil)
	defer d.Release()
	body := `{"streams":[{"stream":{"level":"WARN"},"values":[["1","error"],["2","x",{"detected_level":"Err"}]]},{"stream":{"a":"1"},"values":[["1","error"],["2","x",{"lvl":"DBG","k":"v"}],["3","x"],["4","x",{"k":"v"}]]}]}`
	want := []string{"warn", "error", "error", "debug", "unknown", "unknown"}
	if err := d.JSON([]byte(body)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range d.Batch() {
		for _, e := range s.Entries {
			got = append(got, e.Metadata.Get(LevelName))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
