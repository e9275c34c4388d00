package latency

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
)

func TestJSONIsStable(t *testing.T) {
	s := record([]uint64{3, 1000, 1000, 50000}).Snapshot()
	const want = `{"count":4,"sum_ns":52003,"min_ns":3,"max_ns":50000,"buckets":[3,1,992,2,49152,1]}`
	if b, err := json.Marshal(s); string(b) != want || err != nil {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
	var empty Snapshot
	if b, err := json.Marshal(empty); string(b) != `{"count":0,"sum_ns":0,"min_ns":0,"max_ns":0,"buckets":[]}` || err != nil {
		t.Errorf("%s, %v", b, err)
	}
	roundTrip(t, empty)
	full := new(Histogram)
	for i := range buckets {
		full.RecordN(boundsOf(i).Low, 1<<53)
	}
	roundTrip(t, full.Snapshot())
	b, err := json.MarshalIndent(full.Snapshot(), "\t\t\t\t", "\t")
	var got Snapshot
	if err != nil || json.Unmarshal(b, &got) != nil {
		t.Errorf("a full histogram, indented, of %d bytes is refused", len(b))
	}
}

var hostile = []string{
	`{"count":1,"buckets":[]}`,
	`{"count":1,"min_ns":3,"max_ns":3,"buckets":[3]}`,
	`{"count":1,"min_ns":33,"max_ns":33,"buckets":[33,1]}`,                           // 33 is in the middle of a bucket
	`{"count":2,"min_ns":3,"max_ns":3,"buckets":[3,1]}`,                              // wrong sum
	`{"count":2,"min_ns":3,"max_ns":3,"buckets":[3,1,3,1]}`,                          // twice
	`{"count":2,"min_ns":3,"max_ns":4,"buckets":[4,1,3,1]}`,                          // not ascending
	`{"count":1,"min_ns":3,"max_ns":3,"buckets":[3,1,4,0]}`,                          // an empty bucket
	`{"count":1,"min_ns":3,"max_ns":9,"buckets":[3,1]}`,                              // max is in another bucket
	`{"count":1,"min_ns":3,"max_ns":3,"clamped":2,"buckets":[3,1]}`,                  // more clamped than counted
	`{"count":1,"min_ns":9,"max_ns":3,"buckets":[3,1]}`,                              // min above max
	`{"count":1,"min_ns":3,"max_ns":3,"sum_ns":9223372036854775808,"buckets":[3,1]}`, // sum
	`{"count":1,"min_ns":3,"max_ns":3,"buckets":[8796093022208,1]}`,                  // outside the range
	`{"count":1,"min_ns":-3,"max_ns":3,"buckets":[3,1]}`,                             // negative
	`{"count":1,"min_ns":3,"max_ns":3,"one_of":4294967296,"buckets":[3,1]}`,          // too large for its type
	`{"count":1e3,"min_ns":3,"max_ns":3,"buckets":[3,1]}`,                            // not an integer
	`[]`, `{`, `"count"`,
	`{"count":1,"min_ns":3,"max_ns":3,"buckets":[` + strings.Repeat("0,", 2*buckets) + `3,1]}`,
}

func TestHostileJSONIsRefused(t *testing.T) {
	for _, in := range hostile {
		s := record([]uint64{5}).Snapshot()
		was := s
		if err := json.Unmarshal([]byte(in), &s); err == nil {
			t.Errorf("%.80s is accepted: %v", in, s)
		}
		if !reflect.DeepEqual(s, was) {
			t.Errorf("%.80s is refused, but changes the snapshot", in)
		}
	}
}

// json passes a whole value to UnmarshalJSON, however long. The result is
// small.
func TestHostileJSONTakesLittleMemory(t *testing.T) {
	in := []byte(`{"buckets":[` + strings.Repeat("0,", 32<<20) + `0]}`)
	var err error
	n := filetest.Allocated(func() { err = new(Snapshot).UnmarshalJSON(in) })
	if err == nil || n > 1<<20 {
		t.Errorf("64 MiB of buckets: error %v, %d bytes of memory; want an error, and at most 1 MiB", err, n)
	}
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, in := range hostile {
		f.Add([]byte(in))
	}
	b, _ := json.Marshal(record([]uint64{3, 1000, 1000, 50000, top - 1}).Snapshot())
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		var s Snapshot
		if json.Unmarshal(in, &s) != nil {
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got Snapshot
		if err := json.Unmarshal(again, &got); err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%s becomes %s, which is read as %#v, %v", in, again, got, err)
		}
		if third, _ := json.Marshal(got); !bytes.Equal(third, again) {
			t.Fatalf("%s becomes %s", again, third)
		}
		_ = s.String() + s.Merge(s).String() + s.Sub(s).String() + s.Scaled().String()
	})
}
