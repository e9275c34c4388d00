package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/server/internal/lokijson"
	"github.com/stele-go/stele/server/internal/params"
)

var labelRoutes = []route{
	{"GET POST", "/loki/api/v1/labels", querying, (*Server).serveLabels},
	{"GET POST", "/loki/api/v1/label", querying, (*Server).serveLabels},
	{"GET POST", "/loki/api/v1/label/{name}/values", querying, (*Server).serveLabelValues},
	{"GET POST", "/loki/api/v1/series", querying, (*Server).serveSeries},
}

// labelWindow is how far back names and values of labels are looked for by default.
const labelWindow = 6 * time.Hour

// selection reads what endpoints about streams have in common: query, start, end, since.
func selection(v params.Values, tenant string, window time.Duration) (logql.Selection, error) {
	start, end, err := v.Window(window, true)
	return logql.Selection{Tenant: tenant, Query: v.Get("query"), Start: start, End: max(end, start+1)}, err
}

// onlySelector refuses a query that has more than a stream selector: what is told of streams
// does not depend on lines.
func onlySelector(query string) error {
	if query == "" {
		return nil
	}
	if _, err := syntax.ParseMatchers(query); err == nil {
		return nil
	}
	if log, err := syntax.Parse(query); err == nil {
		return refuse(http.StatusBadRequest, "only label matchers are supported: %s", log) // as Loki words it
	}
	return nil // the engine says what is wrong
}

// selected is selection for an endpoint that wants a query.
func selected(v params.Values, tenant string, window time.Duration) (logql.Selection, error) {
	sel, err := selection(v, tenant, window)
	if err == nil && sel.Query == "" {
		err = &params.Error{Name: "query", Want: `a query such as {app="api"}`}
	}
	return sel, err
}

func (s *Server) serveLabels(w http.ResponseWriter, c *call) error {
	return s.names(w, c, s.reads.engine.Labels)
}

func (s *Server) serveLabelValues(w http.ResponseWriter, c *call) error {
	return s.names(w, c, func(ctx context.Context, sel logql.Selection) ([]string, error) {
		return s.reads.engine.LabelValues(ctx, c.PathValue("name"), sel)
	})
}

// names answers with a list of names or values.
func (s *Server) names(w http.ResponseWriter, c *call, ask func(context.Context, logql.Selection) ([]string, error)) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	sel, err := selection(v, c.tenant, labelWindow)
	if err = cmp.Or(err, onlySelector(sel.Query)); err != nil {
		return err
	}
	return s.run(w, c, func(ctx context.Context, _ time.Duration) (reply, error) {
		list, err := ask(ctx, sel)
		return reply{textsBytes(list), func(b *body) {
			success(b.Writer, func() {
				if len(list) > 0 { // Loki leaves it out
					b.Name("data")
					b.Strings(list)
				}
			})
		}}, err
	})
}

// success writes an object that has a status, and the fields that f writes.
func success(w *lokijson.Writer, f func()) {
	w.BeginObject()
	w.Name("status")
	w.String("success")
	f()
	w.EndObject()
}

func (s *Server) serveSeries(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	sel, err := selection(v, c.tenant, time.Hour)
	if err != nil {
		return err
	}
	match := append(v.All("match[]"), v.All("match")...)
	return s.run(w, c, func(ctx context.Context, _ time.Duration) (reply, error) {
		series, err := s.reads.engine.Series(ctx, match, sel)
		bytes := int64(0)
		for _, labels := range series {
			bytes += labelsBytes(labels)
		}
		return reply{bytes, func(b *body) {
			success(b.Writer, func() {
				b.Name("data")
				b.BeginArray()
				for _, labels := range series {
					writeLabels(b.Writer, labels)
				}
				b.EndArray()
			})
		}}, err
	})
}
