package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/lokijson"
	"github.com/stele-go/stele/server/internal/params"
)

var sourceRoutes = []route{
	{"GET", "/stele/api/v1/source", querying, (*Server).serveSource},
	{"DELETE", "/stele/api/v1/source", pushing, (*Server).serveForgetSource},
	{"GET", "/stele/api/v1/sources", querying, (*Server).serveSources},
}

// sourcesPage is how many sources are told at once by default, and maxSourcesPage at most.
const (
	sourcesPage    = 1000
	maxSourcesPage = 10_000
)

// serveSource tells how much of a source the store has, for who pushes it to go on there.
func (s *Server) serveSource(w http.ResponseWriter, c *call) error {
	name, err := sourceName(w, c)
	if err != nil {
		return err
	}
	info, known, err := s.store.Source(c.Context(), c.tenant, name)
	if err != nil {
		return err
	}
	answerJSON(w, c, http.StatusOK, func(b *body) {
		b.BeginObject()
		b.Name("source")
		b.String(name)
		b.Name("known")
		b.Bool(known)
		if known {
			writeOffset(b.Writer, info.Offset)
		}
		b.EndObject()
	})
	return nil
}

func (s *Server) serveForgetSource(w http.ResponseWriter, c *call) error {
	name, err := sourceName(w, c)
	if err != nil {
		return err
	}
	if err := s.store.ForgetSource(c.Context(), c.tenant, name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func sourceName(w http.ResponseWriter, c *call) (string, error) {
	v, err := paramsOf(w, c)
	if name := v.Get("name"); err == nil && (name == "" || len(name) > maxSource) {
		err = &params.Error{Name: "name", Value: name, Want: fmt.Sprintf("the name of a source, at most %d bytes", maxSource)}
	}
	return v.Get("name"), err
}

func (s *Server) serveSources(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	limit, err := v.Count("limit", sourcesPage, 1)
	if err != nil {
		return err
	}
	list, err := s.store.Sources(c.Context(), c.tenant, v.Get("from"), min(limit, maxSourcesPage))
	more := errors.Is(err, logstore.ErrMore)
	if err != nil && !more {
		return err
	}
	answerJSON(w, c, http.StatusOK, func(b *body) {
		b.BeginObject()
		b.Name("sources")
		b.BeginArray()
		for _, info := range list {
			b.BeginObject()
			b.Name("source")
			b.String(info.Name)
			writeOffset(b.Writer, info.Offset)
			b.EndObject()
		}
		b.EndArray()
		b.Name("more")
		b.Bool(more)
		b.EndObject()
	})
	return nil
}

// writeOffset writes an offset as a text: a number of JSON has 53 bits.
func writeOffset(w *lokijson.Writer, offset uint64) {
	w.Name("offset")
	w.String(strconv.FormatUint(offset, 10))
}
