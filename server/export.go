package server

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/lokijson"
	"github.com/stele-go/stele/server/internal/params"
)

var exportRoutes = []route{{"GET POST", "/stele/api/v1/export", querying, (*Server).serveExport}}

const (
	// exportFlush is how long a line may wait for the next one until it is sent.
	exportFlush = time.Second
	// An export waits for its client a while, and a second for each so many bytes that it
	// has taken: a slow one may come back with the cursor of its last line.
	exportPatience = 2 * time.Minute
	exportRate     = 16 << 10
)

// An exportWriter ends an export whose client is too slow altogether. What the store and
// the pipeline take is not the client's.
type exportWriter struct {
	http.ResponseWriter
	flushed time.Time
	written int64
	waited  time.Duration // for the client
}

// Write writes bytes of the answer.
func (w *exportWriter) Write(p []byte) (n int, err error) {
	err = w.wait(func() error {
		n, err = w.ResponseWriter.Write(p)
		return err
	})
	w.written += int64(n)
	return n, err
}

// FlushError sends what was written.
func (w *exportWriter) FlushError() error {
	return w.wait(http.NewResponseController(w.ResponseWriter).Flush)
}

// Unwrap returns the inner writer, for http.ResponseController.
func (w *exportWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *exportWriter) wait(write func() error) error {
	begun := time.Now()
	err := write()
	w.waited += time.Since(begun)
	if most := exportPatience + time.Duration(w.written/exportRate)*time.Second; err == nil && w.waited > most {
		err = fmt.Errorf("server: export: the client took %d bytes in %v; want at most %v", w.written, w.waited, most)
	}
	return err
}

// serveExport answers with all lines of a log query as JSON lines, in the memory of a few of
// them. The last line says that it is the last, or what went wrong: an answer without
// that is torn, and goes on behind the cursor of its last line.
func (s *Server) serveExport(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	r, limit, err := exportRequest(v, c.tenant)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := s.reads.exports.enter(c.Context()); err != nil {
		return err
	}
	defer s.reads.exports.leave()
	s.reads.observe(phaseQueue, begun)
	defer s.reads.observe(phaseExport, time.Now())
	return s.export(w, c, r, limit)
}

// exportRequest reads query, start, end, since, direction, after and limit. limit 0 is none.
func exportRequest(v params.Values, tenant string) (r logql.Request, limit int64, err error) {
	log, err := parseLog(v.Get("query"))
	if err != nil {
		return r, 0, err
	}
	r = logql.Request{Tenant: tenant, Query: v.Get("query"), Expr: log, Limit: -1, Cursors: true}
	if r.Start, r.End, err = v.Window(time.Hour, true); err != nil {
		return r, 0, err
	}
	r.Direction = logql.Forward
	if v.Get("direction") != "" {
		forward, err := v.Forward()
		if err != nil {
			return r, 0, err
		}
		if !forward {
			r.Direction = logql.Backward
		}
	}
	if text := v.Get("after"); text != "" {
		if r.After, err = logstore.ParseCursor(text); err != nil {
			return r, 0, &params.Error{Name: "after", Value: text, Want: "the cursor of a line of an export"}
		}
	}
	n, err := v.Count("limit", 0, 0)
	return r, int64(n), err
}

func (s *Server) export(w http.ResponseWriter, c *call, r logql.Request, limit int64) error {
	var out *body
	var lines int64
	var failed error
	to := &exportWriter{ResponseWriter: w, flushed: time.Now()}
	for line, err := range s.reads.engine.Stream(c.Context(), r) {
		if err != nil {
			failed = c.explain(err)
			continue // the store goes on after damage; another error is the last step
		}
		if out == nil {
			out = newBody(to, c, "application/x-ndjson", http.StatusOK)
			out.patient = true
		}
		writeExported(out.Writer, &line)
		lines++
		if out.Err() != nil || lines == limit {
			break
		}
		if now := time.Now(); now.Sub(to.flushed) > exportFlush {
			to.flushed = now
			_ = out.sync() // the error stays
		}
	}
	if out == nil {
		if failed != nil {
			return failed
		}
		out = newBody(w, c, "application/x-ndjson", http.StatusOK)
	}
	out.BeginObject()
	if failed != nil {
		out.Name("error")
		out.String(failed.Error())
	} else {
		out.Name("end")
		out.Bool(true)
	}
	ints(out.Writer, "lines", lines)
	out.EndObject()
	out.Newline()
	_ = out.end() // the client is gone if it fails
	return nil
}

// writeExported writes a line with its labels, those of metadata apart. A text that is not
// UTF-8 is line64, in base64.
func writeExported(w *lokijson.Writer, line *logql.Line) {
	w.BeginObject()
	w.Name("time")
	w.Nanos(line.Time)
	if utf8.ValidString(line.Text) {
		w.Name("line")
		w.String(line.Text)
	} else {
		w.Name("line64")
		w.String(base64.StdEncoding.EncodeToString([]byte(line.Text)))
	}
	w.Name("labels")
	if len(line.Parsed) == 0 {
		writeLabels(w, ownLabels(nil, line))
	} else {
		withoutMetadata := *line
		withoutMetadata.Parsed = nil
		writeLabels(w, ownLabels(nil, &withoutMetadata))
	}
	if len(line.Metadata) > 0 {
		w.Name("metadata")
		writeLabels(w, line.Metadata)
	}
	w.Name("cursor")
	w.String(line.Cursor.String())
	w.EndObject()
	w.Newline()
}
