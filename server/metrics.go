package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

var metricsRoutes = []route{{"GET", "/metrics", plain, (*Server).serveMetrics}}

// metrics are the figures of a server that Prometheus reads. Labels are bounded: those of
// routes, kinds and statuses.
type metrics struct {
	registry       *prometheus.Registry
	handler        http.Handler
	requests       *prometheus.CounterVec
	took           *prometheus.HistogramVec
	foreign        prometheus.Counter
	ignoredTenants prometheus.Counter
	pushes         *routeMetrics // of direct connections
	unknown        *routeMetrics // requests that no endpoint takes
}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "stele_http_requests_total", Help: "Requests that were answered, by endpoint and class of status.",
	}, []string{"path", "status"})
	m.took = prometheus.NewHistogramVec(histogram("stele_http_request_seconds", "Time from the headers of a request to the end of its answer."), []string{"path"})
	m.foreign = prometheus.NewCounter(prometheus.CounterOpts{Name: "stele_http_foreign_total", Help: "Requests refused for their Host or Origin."})
	m.ignoredTenants = prometheus.NewCounter(prometheus.CounterOpts{Name: "stele_ignored_tenants_total", Help: "Requests whose X-Scope-OrgID was ignored, as the server has one tenant."})
	m.registry.MustRegister(m.requests, m.took, m.foreign, m.ignoredTenants,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newServerCollector(s), newStoreCollector(s.store))
	m.pushes = m.ofRoute(&route{path: pushPath})
	m.unknown = m.ofRoute(&route{path: "other"})
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// histogram returns options of a histogram that is native and classic at once.
func histogram(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}
}

func (s *Server) serveMetrics(w http.ResponseWriter, c *call) error {
	s.metrics.handler.ServeHTTP(w, c.Request)
	return nil
}

// routeMetrics count the calls of a route.
type routeMetrics struct {
	classes [6]prometheus.Counter // by the first digit of the status
	took    prometheus.Observer
}

func (m *metrics) ofRoute(r *route) *routeMetrics {
	t := &routeMetrics{took: m.took.WithLabelValues(r.path)}
	for i := 1; i < len(t.classes); i++ {
		t.classes[i] = m.requests.WithLabelValues(r.path, string(rune('0'+i))+"xx")
	}
	return t
}

func (t *routeMetrics) add(status int, took time.Duration) {
	if class := status / 100; class > 0 && class < len(t.classes) {
		t.classes[class].Inc()
	}
	t.took.Observe(took.Seconds())
}
