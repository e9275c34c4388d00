package server

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
)

// An engine answers what clients ask: a *logql.Engine.
type engine interface {
	Limits() logql.Limits
	Run(ctx context.Context, r logql.Request) (*logql.Result, error)
	Stream(ctx context.Context, r logql.Request) iter.Seq2[logql.Line, error]
	History(ctx context.Context, r logql.Request) (after logstore.Cursor, lines int, err error)
	Tail(ctx context.Context, r logql.Request) iter.Seq2[logql.Line, error]
	Labels(ctx context.Context, s logql.Selection) ([]string, error)
	LabelValues(ctx context.Context, name string, s logql.Selection) ([]string, error)
	Series(ctx context.Context, selectors []string, s logql.Selection) ([][]logql.LabelPair, error)
	IndexStats(ctx context.Context, s logql.Selection) (logql.IndexStats, error)
	Volume(ctx context.Context, r logql.VolumeRequest) (*logql.Result, error)
	VolumeRange(ctx context.Context, r logql.VolumeRequest) (*logql.Result, error)
	DetectedLabels(ctx context.Context, s logql.Selection) ([]logql.DetectedLabel, error)
	DetectedFields(ctx context.Context, r logql.FieldsRequest) ([]logql.DetectedField, error)
	DetectedFieldValues(ctx context.Context, name string, r logql.FieldsRequest) ([]string, error)
	Patterns(ctx context.Context, r logql.PatternsRequest) ([]logql.PatternSeries, error)
}

// tailMemory is how many bytes of lines all tails together may hold back, and answerMemory
// those of results that wait for their clients, beside those of queries that run.
const (
	tailMemory   = 32 << 20
	answerMemory = 64 << 20
)

// reads is what the endpoints that read share.
type reads struct {
	engine    engine
	gate      *gate               // of queries
	exports   *gate               // of exports, which last as long as their clients want
	answers   *semaphore.Weighted // of answerMemory
	tails     atomic.Int64        // under way
	tailRoom  *semaphore.Weighted // of tailMemory
	deletions deletions           // that were asked for since the start
	phases    [phases]prometheus.Observer
	lost      prometheus.Counter // lines that tails were too slow for
}

// A phase is a part of the time of a query.
type phase uint8

const (
	phaseQueue phase = iota
	phaseRun
	phaseAnswer
	phaseExport
	phaseHistory
	phases
)

func newReads(s *Server, e engine) *reads {
	q := s.o.Queries
	r := &reads{
		engine: e, gate: newGate("queries", q.Max, q), exports: newGate("exports", q.Exports, q),
		answers: semaphore.New(answerMemory), tailRoom: semaphore.New(tailMemory),
	}
	took := prometheus.NewHistogramVec(histogram("stele_query_seconds", "Time of queries, by phase: waiting for their turn, running, and sending the answer; whole exports; and the history of tails."), []string{"phase"})
	for i, name := range []string{"queue", "run", "answer", "export", "history"} {
		r.phases[i] = took.WithLabelValues(name)
	}
	r.lost = prometheus.NewCounter(prometheus.CounterOpts{Name: "stele_tail_lost_lines_total", Help: "Lines that tails did not get, as their clients were too slow."})
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	s.metrics.registry.MustRegister(took, r.lost,
		gauge("stele_queries_running", "Queries that run now.", func() float64 { return float64(r.gate.running()) }),
		gauge("stele_queries_waiting", "Queries that wait for their turn.", func() float64 { return float64(r.gate.waiting()) }),
		gauge("stele_exports_running", "Exports that run now.", func() float64 { return float64(r.exports.running()) }),
		gauge("stele_answer_memory_bytes", "Bytes of results that wait for their clients.", func() float64 { return float64(r.answers.Size() - r.answers.Free()) }),
		gauge("stele_tails", "Tails under way.", func() float64 { return float64(r.tails.Load()) }))
	return r
}

// observe records how long a phase took that began at begun.
func (r *reads) observe(p phase, begun time.Time) { r.phases[p].Observe(time.Since(begun).Seconds()) }
