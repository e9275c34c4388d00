package lokipush

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

// An allowance is an account that has so many bytes.
type allowance struct{ left int64 }

var errSpent = errors.New("all memory is used")

func (a *allowance) Charge(n int64) error {
	if a.left -= n; a.left < 0 {
		return errSpent
	}
	return nil
}

var hostileLimits = Limits{Streams: 1 << 20, Entries: 1 << 20, Labels: 64, LabelName: 1024, LabelValue: 4096, Metadata: 128, MetadataBytes: 63 << 10}

// bombs are bodies that are small for what they ask to be held.
func bombs() map[string][]byte {
	entry, stream := field(nil, 2, nil), field(nil, 1, field(nil, 2, nil))
	small := protoEntry(1, "", "a", "b")
	return map[string][]byte{
		"empty entries": protoPush(field(field(nil, 1, []byte(`{a="1"}`)), 9, nil), append(field(nil, 1, []byte(`{a="1"}`)), []byte(strings.Repeat(string(entry), 200_000))...)),
		"refused":       protoPush([]byte(strings.Repeat(string(entry), 200_000))),
		"streams":       []byte(strings.Repeat(string(stream), 100_000)),
		"metadata":      protoPush(append(field(nil, 1, []byte(`{a="1"}`)), []byte(strings.Repeat(string(field(nil, 2, small)), 100_000))...)),
	}
}

// Entries are charged for before their memory is there.
func TestEntriesAreCharged(t *testing.T) {
	for name, body := range bombs() {
		t.Run(name, func(t *testing.T) {
			const have = 1 << 20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d := Get(hostileLimits, NewCache(1<<20, nil, false), &allowance{have})
			err := d.Protobuf(body)
			runtime.ReadMemStats(&after)
			d.Release()
			if !errors.Is(err, errSpent) {
				t.Error(err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 4*have {
				t.Errorf("%d bytes were allocated for a body of %d", took, len(body))
			}
		})
	}
	var entries []string
	for i := range 1000 {
		entries = append(entries, fmt.Sprintf(`["%d",""]`, i+1))
	}
	body := `{"streams":[{"stream":{"a":"1"},"values":[` + strings.Join(entries, ",") + `]}]}`
	d := Get(hostileLimits, NewCache(1<<20, nil, false), &allowance{1000})
	defer d.Release()
	if err := d.JSON([]byte(body)); !errors.Is(err, errSpent) {
		t.Error("JSON:", err)
	}
}

// An entry with more metadata than allowed is refused, and takes no memory for them.
func TestMetadataBomb(t *testing.T) {
	pair := field(nil, 3, nil)
	body := protoPush(append(field(nil, 1, []byte(`{a="1"}`)), field(nil, 2, []byte(strings.Repeat(string(pair), 100_000)))...))
	d := Get(hostileLimits, NewCache(1<<20, nil, false), nil)
	defer d.Release()
	if err := d.Protobuf(body); err != nil {
		t.Fatal(err)
	}
	if n := cap(d.pairs); n > keptOthers {
		t.Errorf("room for %d names", n)
	}
	if got, want := text(d), "refused {a=\"1\"}: 1 from 0: the entry has 100000 names of metadata; want at most 128\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	json := `{"streams":[{"stream":{"a":"1"},"values":[["1","x",{` + strings.TrimSuffix(strings.Repeat(`"a":"b",`, 100_000), ",") + `}]]}]}`
	if err := d.JSON([]byte(json)); err != nil || cap(d.pairs) > keptOthers || d.Refused().Single != 1 {
		t.Error(err, cap(d.pairs), d.Refused())
	}
}

// Labels whose text is too long are refused unread. Those that are within the limits never are,
// however they are written.
func TestLongLabels(t *testing.T) {
	var pairs []string
	for i := range 50_000 {
		pairs = append(pairs, fmt.Sprintf(`"a%d":"b"`, i))
	}
	body := []byte(`{"streams":[{"stream":{` + strings.Join(pairs, ",") + `},"values":[["1","x"]]}]}`)
	d := Get(hostileLimits, NewCache(1<<20, nil, false), nil)
	defer d.Release()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := d.JSON(body); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 || d.Refused().Within != 1 {
		t.Errorf("%d bytes were allocated, and refused is %v", took, d.Refused())
	}
	pairs = pairs[:0]
	limits := Limits{Streams: 1, Entries: 1, Labels: 3, LabelName: 4, LabelValue: 20}
	for i := range limits.Labels {
		pairs = append(pairs, fmt.Sprintf(`"\u0061%d" : "%s"`, i, strings.Repeat(`\u0001`, limits.LabelValue)))
	}
	d.limits = limits
	if err := d.JSON([]byte(`{"streams":[{"stream":{` + strings.Join(pairs, ", ") + `},"values":[["1","x"]]}]}`)); err != nil || d.Refused().Entries() != 0 {
		t.Error(err, d.Refused())
	}
}

// All refusals are counted, also those beyond the list.
func TestRefusalsAreCounted(t *testing.T) {
	var streams []string
	for range 100 {
		streams = append(streams, `{"stream":{"a.b":"1"},"values":[["1","x"],["2","y"]]}`)
	}
	d := Get(Limits{Streams: 1000, Entries: 1000, Labels: 10, LabelName: 10, LabelValue: 10}, NewCache(1<<20, nil, false), nil)
	defer d.Release()
	if err := d.JSON([]byte(`{"streams":[` + strings.Join(streams, ",") + `,{"stream":{"a":"1"},"values":[["1","x",{"a":"b"}]]}]}`)); err != nil {
		t.Fatal(err)
	}
	r := d.Refused()
	if r.Streams != 100 || r.Within != 200 || r.Single != 1 || r.Entries() != 201 || len(r.List) != maxRefusals || d.RefusedFrom(200) != 1 {
		t.Errorf("%d streams with %d entries, %d others; %d are listed", r.Streams, r.Within, r.Single, len(r.List))
	}
}

// A decoder with much memory is not kept for later.
func TestLargeDecodersAreDropped(t *testing.T) {
	for name, body := range bombs() {
		d := Get(hostileLimits, NewCache(1<<20, nil, false), nil)
		if err := d.Protobuf(body); err != nil {
			t.Fatal(name, err)
		}
		large := max(cap(d.entries), cap(d.streams)) > keptEntries
		d.Release()
		if again := Get(hostileLimits, nil, nil); large && again == d {
			t.Error(name, "is kept")
		}
	}
}

// Limits as large as can be refuse nothing: no product of them overflows.
func TestLimitsDoNotOverflow(t *testing.T) {
	const most = math.MaxInt
	for _, l := range []Limits{{most, most, most, most, most, most, most}, {most, most, most, 1024, 4096, most, most}} {
		d := Get(l, NewCache(math.MaxInt64, nil, false), nil)
		if err := d.JSON([]byte(`{"streams":[{"stream":{"a":"1"},"values":[["1","x",{"b":"2"}]]}]}`)); err != nil || d.Refused().Streams > 0 || d.Entries() != 1 {
			t.Errorf("%v, %d entries, refused are %+v", err, d.Entries(), d.Refused())
		}
		d.Release()
	}
}
