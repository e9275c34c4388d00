package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
)

// Without lines, Fold passes the times, streams and metadata of the same entries, and
// nothing is decompressed for lines.
func TestFoldWithoutLines(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	for i := range 20 {
		st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
		for j := range 100 {
			e := Entry{Time: int64(j), Line: fmt.Appendf(nil, "line %d", j)}
			if i%3 > 0 {
				e.Metadata = MustLabels("id", fmt.Sprint(j))
			}
			st.Entries = append(st.Entries, e)
		}
		mustAppend(t, s, Batch{st})
	}
	for _, sealed := range []bool{false, true} {
		if sealed {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		texts := func(noLines bool) (list []string) {
			var folders []*textFolder
			var stats QueryStats
			err := s.Fold(t.Context(), Query{To: 90, NoLines: noLines, Stats: &stats}, func(func(int64) error) Folder {
				folders = append(folders, &textFolder{t: t, noLines: noLines})
				return folders[len(folders)-1]
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range folders {
				list = append(list, f.list...)
			}
			if noLines != (stats.RawBytes == 0) {
				t.Errorf("sealed %t, without lines %t: %d bytes of lines", sealed, noLines, stats.RawBytes)
			}
			slices.Sort(list)
			return list
		}
		if want, got := texts(false), texts(true); !slices.Equal(got, want) || len(want) != 20*90 {
			t.Errorf("sealed %t: %d entries; want %d", sealed, len(got), len(want))
		}
	}
	var wrong []error
	for _, err := range s.Query(t.Context(), Query{NoLines: true}) {
		wrong = append(wrong, err)
	}
	_, err := s.Count(t.Context(), Query{NoLines: true}, 0)
	wrong = append(wrong, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Tail(ctx, Query{NoLines: true}) {
		wrong = append(wrong, err)
	}
	if len(wrong) != 3 {
		t.Errorf("%d errors", len(wrong))
	}
	for _, err := range wrong {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Error(err)
		}
	}
}

type textFolder struct {
	t       *testing.T
	noLines bool
	list    []string
}

func (f *textFolder) Fold(r Result) error {
	if f.noLines != (r.Line == nil) {
		f.t.Errorf("line %q", r.Line)
	}
	f.list = append(f.list, fmt.Sprint(r.Labels, r.Time, r.Metadata))
	return nil
}
