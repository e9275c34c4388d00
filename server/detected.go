package server

import (
	"context"
	"net/http"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server/internal/lokijson"
	"github.com/stele-go/stele/server/internal/params"
)

var detectedRoutes = []route{
	{"GET POST", "/loki/api/v1/detected_labels", querying, (*Server).serveDetectedLabels},
	{"GET POST", "/loki/api/v1/detected_fields", querying, (*Server).serveDetectedFields},
	{"GET POST", "/loki/api/v1/detected_field/{name}/values", querying, (*Server).serveDetectedFieldValues},
}

func (s *Server) serveDetectedLabels(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	sel, err := selection(v, c.tenant, time.Hour)
	if err != nil {
		return err
	}
	return s.run(w, c, func(ctx context.Context, _ time.Duration) (reply, error) {
		labels, err := s.reads.engine.DetectedLabels(ctx, sel)
		return reply{int64(len(labels)) * fieldBytes, func(b *body) {
			b.BeginObject()
			if len(labels) > 0 {
				b.Name("detectedLabels")
				b.BeginArray()
				for _, l := range labels {
					b.BeginObject()
					b.Name("label")
					b.String(l.Name)
					ints(b.Writer, "cardinality", l.Cardinality)
					b.EndObject()
				}
				b.EndArray()
			}
			b.EndObject()
		}}, err
	})
}

// detectedLimit is how many fields, or values of one, are told by default; detectedLines of
// how many lines.
const (
	detectedLimit = 1000
	detectedLines = 100
)

func fieldsRequest(v params.Values, tenant string) (r logql.FieldsRequest, err error) {
	if r.Selection, err = selected(v, tenant, time.Hour); err != nil {
		return r, err
	}
	if r.Limit, err = v.Count("limit", detectedLimit, 1); err != nil {
		return r, err
	}
	r.Lines, err = v.Count("line_limit", detectedLines, 1)
	return r, err
}

func (s *Server) serveDetectedFields(w http.ResponseWriter, c *call) error {
	return s.detected(w, c, func(ctx context.Context, r logql.FieldsRequest) (reply, error) {
		fields, err := s.reads.engine.DetectedFields(ctx, r)
		return reply{int64(len(fields)) * fieldBytes, func(b *body) {
			b.BeginObject()
			if len(fields) > 0 {
				b.Name("fields")
				b.BeginArray()
				for i := range fields {
					writeField(b.Writer, &fields[i])
				}
				b.EndArray()
				ints(b.Writer, "limit", r.Limit)
			}
			b.EndObject()
		}}, err
	})
}

func writeField(w *lokijson.Writer, f *logql.DetectedField) {
	w.BeginObject()
	w.Name("label")
	w.String(f.Label)
	w.Name("type")
	w.String(f.Type)
	ints(w, "cardinality", f.Cardinality)
	w.Name("parsers")
	if len(f.Parsers) == 0 {
		w.Raw("null")
	} else {
		w.Strings(f.Parsers)
	}
	if len(f.JSONPath) > 0 {
		w.Name("jsonPath")
		w.Strings(f.JSONPath)
	}
	w.EndObject()
}

func (s *Server) serveDetectedFieldValues(w http.ResponseWriter, c *call) error {
	return s.detected(w, c, func(ctx context.Context, r logql.FieldsRequest) (reply, error) {
		values, err := s.reads.engine.DetectedFieldValues(ctx, c.PathValue("name"), r)
		return reply{textsBytes(values), func(b *body) {
			b.BeginObject()
			if len(values) > 0 {
				b.Name("values")
				b.Strings(values)
				ints(b.Writer, "limit", r.Limit)
			}
			b.EndObject()
		}}, err
	})
}

func (s *Server) detected(w http.ResponseWriter, c *call, ask func(context.Context, logql.FieldsRequest) (reply, error)) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	r, err := fieldsRequest(v, c.tenant)
	if err != nil {
		return err
	}
	return s.run(w, c, func(ctx context.Context, _ time.Duration) (reply, error) { return ask(ctx, r) })
}
