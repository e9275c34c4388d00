package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/lokijson"
	"github.com/stele-go/stele/server/internal/params"
)

var deleteRoutes = []route{
	{"POST PUT", "/loki/api/v1/delete", querying, (*Server).serveDelete},
	{"GET", "/loki/api/v1/delete", querying, (*Server).serveDeletions},
	{"DELETE", "/loki/api/v1/delete", querying, (*Server).serveCancelDelete},
}

// serveDelete deletes entries. When it answers with 204, no query finds them any more, and
// that is durable.
func (s *Server) serveDelete(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	d, err := deletion(v, c.tenant)
	if err != nil {
		return err
	}
	if err := s.awaitReplay(c.Context()); err != nil {
		return err
	}
	err = s.reads.deletions.add(s.store.Deletions, func() (logstore.PendingDeletion, error) {
		position, err := s.store.Delete(c.Context(), d)
		return logstore.PendingDeletion{Deletion: d, Position: position, Time: v.Now()}, err
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// awaitReplay waits until the log is replayed. The store waits for that too, but then the
// deletions are locked, and none can be listed.
func (s *Server) awaitReplay(ctx context.Context) error {
	select {
	case <-s.store.Ready():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deletion reads a deletion: query, start, end and max_interval.
func deletion(v params.Values, tenant string) (d logstore.Deletion, err error) {
	d.Tenant = tenant
	if v.Get("query") == "" {
		return d, refuse(http.StatusBadRequest, "query not set") // as Loki words it
	}
	log, err := parseLog(v.Get("query"))
	if err != nil {
		return d, err
	}
	if d.Selector, err = selectorOf(v.Get("query"), log.Matchers); err != nil {
		return d, err
	}
	if d.Lines, err = deletedLines(log.Stages); err != nil {
		return d, err
	}
	if v.Get("start") == "" {
		return d, refuse(http.StatusBadRequest, "start time not set") // as Loki words it
	}
	if d.From, err = v.Time("start", 0); err != nil {
		return d, err
	}
	now := v.Now().UnixNano()
	end, err := v.Time("end", now)
	if err != nil {
		return d, err
	}
	if end > now {
		return d, &params.Error{Name: "end", Value: v.Get("end"), Want: "a time that has passed"}
	}
	if end < d.From {
		return d, &params.Error{Name: "end", Value: v.Get("end"), Want: "a time that is not before start"}
	}
	d.To = end + 1 // entries at end are deleted too
	// max_interval is how Loki divides its work. Here there is nothing to divide.
	_, err = v.Duration("max_interval", 0)
	return d, err
}

func selectorOf(query string, matchers []syntax.Matcher) (sel logstore.Selector, err error) {
	for _, m := range matchers {
		c, err := logstore.Match(m.Name, logstore.MatchOp(m.Op), m.Value)
		if err != nil {
			return nil, &syntax.Error{Query: query, Range: m.Range, Msg: err.Error()}
		}
		sel = append(sel, c)
	}
	return sel, nil
}

// The states of a deletion, as Loki names them.
const (
	stateReceived  = "received"  // queries do not find the entries; files have them
	stateProcessed = "processed" // no file has them
)

func requestID(position uint64) string { return fmt.Sprintf("%08x", position) }

func (s *Server) serveDeletions(w http.ResponseWriter, c *call) error {
	list := s.reads.deletions.of(c.tenant, s.store.Deletions)
	answerJSON(w, c, http.StatusOK, func(b *body) {
		b.BeginArray()
		for i := range list {
			writeDeletion(b.Writer, &list[i])
		}
		b.EndArray()
	})
	return nil
}

func writeDeletion(w *lokijson.Writer, d *listedDeletion) {
	w.BeginObject()
	w.Name("request_id")
	w.String(requestID(d.Position))
	w.Name("start_time")
	w.Seconds(d.From)
	w.Name("end_time")
	if d.To == 0 {
		w.Seconds(maxTime)
	} else {
		w.Seconds(d.To - 1)
	}
	w.Name("query")
	w.String(deletionQuery(&d.Deletion))
	w.Name("status")
	w.String(d.state)
	w.Name("created_at")
	w.Seconds(d.Time.Truncate(time.Millisecond).UnixNano())
	w.Name("user_id")
	w.String(d.Tenant)
	w.EndObject()
}

// serveCancelDelete cancels a deletion: queries find its entries again. That is refused once
// files have lost some of them.
func (s *Server) serveCancelDelete(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	id := v.Get("request_id")
	if id == "" {
		return &params.Error{Name: "request_id", Want: "the request_id of a deletion"}
	}
	if _, err := v.Bool("force"); err != nil { // what is gone cannot be brought back by force
		return err
	}
	position, err := strconv.ParseUint(id, 16, 64)
	if err != nil {
		return errNoDeletion
	}
	if err := s.awaitReplay(c.Context()); err != nil {
		return err
	}
	err = s.reads.deletions.cancel(position, func() error { return s.store.CancelDeletion(c.Context(), c.tenant, position) })
	switch {
	case errors.Is(err, logstore.ErrDeletionApplied):
		return refuse(http.StatusBadRequest, "deletion %s cannot be cancelled: a compaction has removed some of its entries, or it stands for an earlier deletion of fewer ones too", id)
	case errors.Is(err, logstore.ErrNoDeletion):
		return s.reads.deletions.notPending(c.tenant, position)
	case err != nil:
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

var errNoDeletion = refuse(http.StatusNotFound, "could not find delete request with given id") // as Loki words it
