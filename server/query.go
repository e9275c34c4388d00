package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/server/internal/params"
)

var queryRoutes = []route{
	{"GET POST", "/loki/api/v1/query", querying, (*Server).serveQuery},
	{"GET POST", "/loki/api/v1/query_range", querying, (*Server).serveQueryRange},
}

// defaultLines is how many lines a query gets that sets no limit.
const defaultLines = 100

// paramsOf reads the parameters of a call.
func paramsOf(w http.ResponseWriter, c *call) (params.Values, error) {
	return params.Read(w, c.Request, time.Now())
}

func (s *Server) serveQuery(w http.ResponseWriter, c *call) error {
	v, r, err := s.request(w, c)
	if err != nil {
		return err
	}
	if _, ok := r.Expr.(*syntax.LogExpr); ok {
		return refuse(http.StatusBadRequest, "log queries are not supported as an instant query type, please change your query to a range query type") // as Loki words it
	}
	r.Instant = true
	if r.End, err = v.Time("time", v.Now().UnixNano()); err != nil {
		return err
	}
	r.Start = r.End
	return s.answerQuery(w, c, r)
}

func (s *Server) serveQueryRange(w http.ResponseWriter, c *call) error {
	v, r, err := s.request(w, c)
	if err != nil {
		return err
	}
	if r.Start, r.End, err = v.Window(time.Hour, true); err != nil {
		return err
	}
	if r.Step, err = v.Step(r.Start, r.End); err != nil {
		return err
	}
	if r.Interval, err = v.Interval(); err != nil {
		return err
	}
	if _, ok := r.Expr.(*syntax.LogExpr); !ok {
		if err := s.alignSteps(&r); err != nil {
			return err
		}
	}
	return s.answerQuery(w, c, r)
}

// alignSteps moves the first and the last moment of a metric query outwards to multiples of
// the step, as Loki does: so each refresh of a dashboard asks for the same moments.
func (s *Server) alignSteps(r *logql.Request) error {
	step := int64(r.Step)
	if most := s.reads.engine.Limits().Steps; most > 0 && (r.End-r.Start)/step > int64(most) {
		return refuse(http.StatusBadRequest, "%d moments from start to end, %v apart; want at most %d: increase the parameter step", (r.End-r.Start)/step, r.Step, most)
	}
	r.Start -= r.Start % step
	if rest := r.End % step; rest > 0 {
		r.End += min(step-rest, maxTime-r.End)
	}
	return nil
}

// maxTime is the last time that an entry can have, see package logstore.
const maxTime = 1<<63 - 2

// request reads the parameters, and of them what query and query_range have in common.
func (s *Server) request(w http.ResponseWriter, c *call) (v params.Values, r logql.Request, err error) {
	if v, err = paramsOf(w, c); err != nil {
		return v, r, err
	}
	r = logql.Request{Tenant: c.tenant, Query: v.Get("query")}
	if r.Expr, err = parse(r.Query); err != nil {
		return v, r, err
	}
	if r.Limit, err = v.Count("limit", defaultLines, 1); err != nil {
		return v, r, err
	}
	if _, ok := r.Expr.(*syntax.LogExpr); ok {
		if err := s.checkLines(r.Limit); err != nil {
			return v, r, err
		}
	}
	forward, err := v.Forward()
	if err != nil {
		return v, r, err
	}
	if forward {
		r.Direction = logql.Forward
	}
	r.Explain, err = v.Bool("explain")
	return v, r, err
}

// checkLines refuses a limit of lines that is above that of the server.
func (s *Server) checkLines(limit int) error {
	if most := s.reads.engine.Limits().Lines; most > 0 && limit > most {
		return refuse(http.StatusBadRequest, "max entries limit per query exceeded, limit > max_entries_limit_per_query (%d > %d)", limit, most) // as Loki words it
	}
	return nil
}

// answerQuery runs a query, and answers with its result.
func (s *Server) answerQuery(w http.ResponseWriter, c *call, r logql.Request) error {
	return s.run(w, c, func(ctx context.Context, queued time.Duration) (reply, error) {
		result, err := s.reads.engine.Run(ctx, r)
		return replyOf(result, queued, categorizes(c.Header)), err
	})
}

// categorizes reports whether the client asks for labels by where they are from.
func categorizes(h http.Header) bool {
	for _, value := range h["X-Loki-Response-Encoding-Flags"] {
		for flag := range strings.SplitSeq(value, ",") {
			if strings.TrimSpace(flag) == "categorize-labels" {
				return true
			}
		}
	}
	return false
}
