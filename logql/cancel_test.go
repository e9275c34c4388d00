package logql

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// A cancellingSource cancels with entry number at, and counts those that are folded after it.
type cancellingSource struct {
	Source
	at     int64
	cancel func()
	folded atomic.Int64
}

type cancellingFolder struct {
	logstore.Folder
	s *cancellingSource
}

func (f cancellingFolder) Fold(r logstore.Result) error {
	if f.s.folded.Add(1) == f.s.at {
		f.s.cancel()
	}
	return f.Folder.Fold(r)
}

func (s *cancellingSource) Fold(ctx context.Context, q logstore.Query, begin func(charge func(bytes int64) error) logstore.Folder) error {
	return s.Source.Fold(ctx, q, func(charge func(bytes int64) error) logstore.Folder {
		return cancellingFolder{begin(charge), s}
	})
}

// A cancelled query reads few lines more.
func TestCancelledQueriesReadFewLines(t *testing.T) {
	s := openStore(t)
	const lines, few = 100_000, 5_000
	batch := make([]logstore.Entry, lines)
	for i := range batch {
		batch[i] = logstore.Entry{Time: base + int64(i), Line: fmt.Appendf(nil, "level=info n=%d", i)}
	}
	add(t, s, logstore.MustLabels("app", "a"), batch...)
	for _, where := range []string{"in memory", "in a segment"} {
		for _, query := range []string{
			`sum by (level) (count_over_time({app="a"} | logfmt [1m]))`, `max_over_time({app="a"} | logfmt | unwrap n [1m])`,
			`quantile_over_time(0.9, {app="a"} | logfmt | unwrap n [1m])`, `sum(bytes_over_time({app="a"} [1m]))`,
		} {
			ctx, cancel := context.WithCancel(t.Context())
			source := &cancellingSource{Source: s, at: 1000, cancel: cancel}
			e := NewEngine(source, Options{Limits: Limits{Parallel: 2}})
			_, err := e.Run(ctx, Request{Query: query, End: second(1), Instant: true})
			if n := source.folded.Load(); !errors.Is(err, context.Canceled) || n < source.at || n > source.at+few {
				t.Errorf("%s, %s: %v after %d lines; want %v at most %d after line %d", query, where, err, n, context.Canceled, few, source.at)
			}
			cancel()
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
