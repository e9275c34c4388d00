package server

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server/internal/params"
)

var indexRoutes = []route{
	{"GET POST", "/loki/api/v1/index/stats", querying, (*Server).serveIndexStats},
	{"GET POST", "/loki/api/v1/index/volume", querying, (*Server).serveVolume},
	{"GET POST", "/loki/api/v1/index/volume_range", querying, (*Server).serveVolumeRange},
}

func (s *Server) serveIndexStats(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	sel, err := selected(v, c.tenant, time.Hour)
	if err = cmp.Or(err, onlySelector(sel.Query)); err != nil {
		return err
	}
	return s.run(w, c, func(ctx context.Context, _ time.Duration) (reply, error) {
		n, err := s.reads.engine.IndexStats(ctx, sel)
		return reply{0, func(b *body) {
			b.BeginObject()
			ints(b.Writer, "streams", n.Streams, "chunks", n.Chunks, "bytes", n.Bytes, "entries", n.Entries)
			b.EndObject()
		}}, err
	})
}

func (s *Server) serveVolume(w http.ResponseWriter, c *call) error {
	return s.volume(w, c, false, s.reads.engine.Volume)
}

func (s *Server) serveVolumeRange(w http.ResponseWriter, c *call) error {
	return s.volume(w, c, true, s.reads.engine.VolumeRange)
}

func (s *Server) volume(w http.ResponseWriter, c *call, steps bool, ask func(context.Context, logql.VolumeRequest) (*logql.Result, error)) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	r, err := volumeRequest(v, c.tenant)
	if err != nil {
		return err
	}
	if steps {
		if r.Step, err = v.Step(r.Start, r.End); err != nil {
			return err
		}
	}
	return s.run(w, c, func(ctx context.Context, queued time.Duration) (reply, error) {
		result, err := ask(ctx, r)
		return replyOf(result, queued, false), err
	})
}

// volumeSeries is how many series a volume has at most by default.
const volumeSeries = 100

func volumeRequest(v params.Values, tenant string) (r logql.VolumeRequest, err error) {
	r.Selection, err = selected(v, tenant, time.Hour)
	if err = cmp.Or(err, onlySelector(r.Query)); err != nil {
		return r, err
	}
	if r.Limit, err = v.Count("limit", volumeSeries, 1); err != nil {
		return r, err
	}
	for name := range strings.SplitSeq(v.Get("targetLabels"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.Labels = append(r.Labels, name)
		}
	}
	switch by := v.Get("aggregateBy"); by {
	case "", "series":
	case "labels":
		r.ByName = true
	default:
		return r, &params.Error{Name: "aggregateBy", Value: by, Want: "series or labels"}
	}
	return r, nil
}
