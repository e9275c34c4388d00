package server

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/stele-go/stele/logstore"
)

var statusRoutes = []route{
	{"GET", "/ready", plain, (*Server).serveReady},
	{"GET", "/loki/api/v1/status/buildinfo", plain, (*Server).serveBuildInfo},
	{"GET", "/config", plain, (*Server).serveConfig},
	{"GET", "/loki/api/v1/drilldown-limits", tenant, (*Server).serveDrilldownLimits},
}

// serveReady answers with 200 once all that was acknowledged is found by queries, and while
// pushes are taken.
func (s *Server) serveReady(w http.ResponseWriter, _ *call) error {
	if s.stopping.Err() != nil {
		return errStopping
	}
	select {
	case <-s.store.Ready():
	default:
		stats := s.store.Stats()
		return retryLater(http.StatusServiceUnavailable, 1, "not ready: replaying the log, %d of %d records", stats.Replayed, stats.Replayed+stats.ToReplay)
	}
	if err := unfit(s.store.Stats()); err != nil {
		return retryLater(http.StatusServiceUnavailable, 30, "not ready: %w", err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ready\n") // the client is gone if it fails
	return nil
}

// unfit returns why a store takes no pushes, or nil.
func unfit(s logstore.Stats) error {
	switch {
	case s.Failed != nil:
		return s.Failed
	case s.LowSpace:
		return fmt.Errorf("%w: %d bytes are free, and pushes are taken from %d on: free some, or lower min_free", logstore.ErrLowSpace, s.Free, s.MinFree)
	}
	return nil
}

func (s *Server) serveBuildInfo(w http.ResponseWriter, c *call) error {
	answerJSON(w, c, http.StatusOK, func(b *body) {
		b.BeginObject()
		for _, field := range [][2]string{
			{"version", s.o.Version}, {"revision", s.o.Revision}, {"branch", ""}, {"buildUser", ""}, {"buildDate", ""}, {"goVersion", runtime.Version()},
		} {
			b.Name(field[0])
			b.String(field[1])
		}
		b.EndObject()
	})
	return nil
}

func (s *Server) serveConfig(w http.ResponseWriter, _ *call) error {
	if s.o.Config == nil {
		return refuse(http.StatusNotFound, "this server does not tell its settings")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(s.o.Config()) // the client is gone if it fails
	return nil
}

// serveDrilldownLimits answers with what Logs Drilldown reads of the limits.
func (s *Server) serveDrilldownLimits(w http.ResponseWriter, c *call) error {
	limits := s.reads.engine.Limits()
	answerJSON(w, c, http.StatusOK, func(b *body) {
		b.BeginObject()
		b.Name("limits")
		b.BeginObject()
		b.Name("discover_log_levels")
		b.Bool(s.o.DiscoverLogLevels)
		b.Name("discover_service_name")
		if len(s.o.DiscoverServiceName) == 0 {
			b.Strings(nil)
		} else {
			b.Strings(s.o.DiscoverServiceName)
		}
		ints(b.Writer, "max_entries_limit_per_query", limits.Lines, "max_query_series", limits.Series, "volume_max_series", volumeMaxSeries)
		for _, field := range [][2]string{
			{"max_query_length", "0s"}, {"max_query_lookback", "0s"}, {"max_query_range", durationText(limits.MaxRange)},
			{"query_timeout", durationText(limits.Time)},
		} {
			b.Name(field[0])
			b.String(field[1])
		}
		ints(b.Writer, "max_query_bytes_read", limits.Bytes)
		for _, name := range []string{"volume_enabled", "allow_structured_metadata"} {
			b.Name(name)
			b.Bool(true)
		}
		for _, name := range []string{"metric_aggregation_enabled", "pattern_persistence_enabled"} {
			b.Name(name)
			b.Bool(false)
		}
		b.EndObject()
		b.Name("pattern_ingester_enabled")
		b.Bool(true)
		b.Name("version")
		b.String(s.o.Version)
		b.EndObject()
	})
	return nil
}

// volumeMaxSeries is Loki's default, by which clients choose their limit.
const volumeMaxSeries = 1000

func durationText(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	return d.String()
}
