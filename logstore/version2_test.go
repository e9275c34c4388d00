package logstore

import (
	"context"
	"fmt"
	"testing"
)

// The stores in testdata/v2 were written when the number of segments became 2, and are
// not written again: see the README there.

const version2Batches = 3

// version2Names returns the names of batch i, the last one of which has a source.
func version2Names(i int) AppendOptions {
	o := AppendOptions{Key: [16]byte{'k', byte(i)}}
	if i == version2Batches-1 {
		o.Source, o.Offset = "a file", 100
	}
	return o
}

// version2Tenant is a tenant with one batch, of one line.
const version2Tenant = "blue"

func version2TenantBatch() Batch {
	return Batch{{Labels: MustLabels("app", "of a tenant"), Entries: []Entry{{Time: version1Start, Line: []byte("a line of a tenant")}}}}
}

// version2Deletion is made last in the store unsealed.
var version2Deletion = Deletion{Selector: Selector{{Name: "app", Op: Equal, Value: "app-07"}}}

// version2Contents returns the entries that a store has.
func version2Contents(name string) (all []kept) {
	for i := range version2Batches {
		for _, st := range version1Batch(i) {
			if name == "unsealed" && version2Deletion.Selector.matches(st.Labels) {
				continue
			}
			for _, e := range st.Entries {
				all = append(all, kept{st.Labels.enc, e.Time, string(e.Line), e.Metadata.enc})
			}
		}
	}
	return all
}

// Each store of version 2 opens, has all that it had, and knows the batches again.
func TestVersion2Stores(t *testing.T) {
	for _, name := range []string{"sealed", "merged", "unsealed"} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, unpackStore(t, "v2", name), version1Options())
			want := counted(version2Contents(name))
			for _, step := range []string{"opened", "sealed", "compacted"} {
				var err error
				switch step {
				case "sealed":
					err = s.Seal(t.Context())
				case "compacted":
					err = s.Compact(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, order := range []Order{Forward, Backward} {
					got, errs := queried(s, order)
					if len(errs) > 0 {
						t.Fatal(step, errs)
					}
					sameCounts(t, fmt.Sprintf("%s, %v", step, order), counted(got), want)
				}
				want := version2TenantBatch()[0]
				entries := 0
				for r, err := range s.Query(context.Background(), Query{Tenant: version2Tenant}) {
					if err != nil {
						t.Fatal(err)
					}
					entries++
					if e := want.Entries[0]; string(r.Line) != string(e.Line) || r.Time != e.Time || r.Labels.String() != want.Labels.String() {
						t.Errorf("%s: the tenant has %v %d %q", step, r.Labels, r.Time, r.Line)
					}
				}
				if entries != 1 {
					t.Errorf("%s: the tenant has %d entries; want 1", step, entries)
				}
			}
			for i := range version2Batches {
				a, err := s.AppendWith(t.Context(), version1Batch(i), version2Names(i))
				if err != nil || a.Kept != 0 {
					t.Errorf("batch %d again: %+v, %v", i, a, err)
				}
			}
		})
	}
}
