package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
)

// A Server answers HTTP requests over a store. Serve reads them from a listener; as an
// http.Handler it may be part of another server, whose limits on connections then count.
// Many goroutines may use one.
type Server struct {
	store    *logstore.Store
	reads    *reads
	o        Options
	mux      *http.ServeMux
	metrics  *metrics
	guard    guard
	pusher   *pusher
	conns    *conns
	failures failureLog
	forms    *forms

	calls    calls
	stopping context.Context // done once Shutdown has begun
	stop     context.CancelFunc
	hasty    context.Context // done once a shutdown waits for queries no longer
	hurry    context.CancelFunc
}

// New returns a server over store, which stays the caller's: close it after Shutdown.
// The error is one of wrong Options, for which errors.Is(err, fs.ErrInvalid) holds.
func New(store *logstore.Store, o Options) (*Server, error) {
	if store == nil {
		return nil, setting.Wrong("server: New: store", nil, "an open store")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{store: store, o: o, failures: failureLog{logger: o.Logger}}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.hasty, s.hurry = context.WithCancel(context.Background())
	s.metrics = newMetrics(s)
	s.reads = newReads(s, logql.NewEngine(store, logql.Options{Limits: o.Query}))
	s.guard = newGuard(o.Hosts)
	s.forms = newForms(o.Queries)
	s.pusher = newPusher(s)
	s.conns = newConns(s)
	s.mux = http.NewServeMux()
	for i := range routes {
		r := &routes[i]
		for _, method := range strings.Fields(r.methods) {
			s.mux.Handle(method+" "+r.path, s.handlerOf(r))
		}
	}
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	out, ok := w.(*answer)
	if !ok {
		out = &answer{ResponseWriter: w}
	}
	if err := s.guard.checkRequest(r); err != nil {
		s.metrics.foreign.Inc()
		s.fail(out, r, err)
		return
	}
	s.mux.ServeHTTP(out, r)
	if r.Pattern == "" { // 404, 405, or the way to a cleaner path
		s.metrics.unknown.add(out.code(), time.Since(begun))
	}
}

// handlerOf returns the handler of a route with all that is the same for each: it
// counts and logs the call, refuses it during a shutdown, and finds its tenant.
func (s *Server) handlerOf(r *route) http.Handler {
	seen := s.metrics.ofRoute(r)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		begun := time.Now()
		out := w.(*answer)
		s.serve(out, req, r)
		took := time.Since(begun)
		seen.add(out.code(), took)
		s.o.Logger.Debug("request", "method", req.Method, "path", req.URL.Path, "status", out.code(), "bytes", out.bytes, "took", took, "from", req.RemoteAddr)
	})
}

// serve answers a request of a route.
func (s *Server) serve(w *answer, req *http.Request, r *route) {
	if r.kind > tenant {
		if !s.calls.enter() {
			s.fail(w, req, errStopping)
			return
		}
		defer s.calls.leave()
	}
	c := &call{Request: req, route: r, patience: w.limit}
	if r.kind >= querying {
		until := s.hasty
		if r.kind == tailing {
			until = s.stopping
		}
		ctx, end := context.WithCancelCause(req.Context())
		defer context.AfterFunc(until, func() { end(errStopping) })()
		defer end(nil)
		c.Request = req.WithContext(ctx)
	}
	var err error
	if r.kind != plain {
		c.tenant, err = s.tenantOf(req.Header["X-Scope-Orgid"])
	}
	if err == nil && r.kind != plain && r.kind != pushing {
		var n int64
		n, err = s.forms.enter(c.Context(), req)
		defer s.forms.leave(n)
	}
	if err == nil {
		err = r.handle(s, w, c)
	}
	if err != nil {
		s.fail(w, req, c.explain(err))
	}
}
