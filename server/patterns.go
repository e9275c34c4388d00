package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server/internal/lokijson"
)

var patternRoutes = []route{{"GET POST", "/loki/api/v1/patterns", querying, (*Server).servePatterns}}

func (s *Server) servePatterns(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	sel, err := selected(v, c.tenant, time.Hour)
	if err != nil {
		return err
	}
	r := logql.PatternsRequest{Selection: sel}
	if v.Get("step") != "" {
		if r.Step, err = v.Step(sel.Start, sel.End); err != nil {
			return err
		}
	}
	if r.Limit, err = v.Count("limit", 0, 1); err != nil {
		return err
	}
	return s.run(w, c, func(ctx context.Context, _ time.Duration) (reply, error) {
		series, err := s.reads.engine.Patterns(ctx, r)
		bytes := int64(0)
		for i := range series {
			bytes += int64(len(series[i].Pattern)) + pointBytes*int64(len(series[i].Samples))
		}
		return reply{bytes, func(b *body) {
			success(b.Writer, func() {
				b.Name("data")
				b.BeginArray()
				for i := range series {
					writePattern(b.Writer, &series[i])
				}
				b.EndArray()
			})
		}}, err
	})
}

func writePattern(w *lokijson.Writer, p *logql.PatternSeries) {
	w.BeginObject()
	w.Name("pattern")
	w.String(p.Pattern)
	w.Name("level")
	w.String(cmp.Or(p.Level, "unknown"))
	w.Name("samples")
	w.BeginArray()
	for _, s := range p.Samples {
		w.BeginArray()
		w.Int(s.Time / 1e9)
		w.Int(s.Count)
		w.EndArray()
	}
	w.EndArray()
	w.EndObject()
}
