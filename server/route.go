package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

// A kind says what a call needs before its handler runs.
type kind uint8

const (
	plain    kind = iota // nothing: it is answered during a shutdown too, and has no tenant
	tenant               // a tenant
	pushing              // a tenant; refused with 503 during a shutdown
	querying             // as pushing; its context also ends when a shutdown is in a hurry
	tailing              // as pushing; its context also ends when a shutdown begins
)

func (k kind) String() string {
	return [...]string{"plain", "tenant", "push", "query", "tail"}[k]
}

// A call is a request on its way to its handler.
type call struct {
	*http.Request
	tenant string
	route  *route
	// patience is how long the client may take no byte of the answer: ConnLimits.Write. It is 0
	// inside another server, whose own deadlines stay as they are.
	patience time.Duration
}

// explain returns errStopping for an error that is due to a shutdown, and others as they are.
func (c *call) explain(err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(c.Context()), errStopping) {
		return errStopping
	}
	return err
}

// A handler answers a call. Its error is written as Loki writes errors, see fail, so it
// must have written nothing before.
type handler func(s *Server, w http.ResponseWriter, c *call) error

// A route is an endpoint. In its path, {name} stands for a part of it, see http.ServeMux.
type route struct {
	methods string // with blanks between them
	path    string
	kind    kind
	handle  handler
}

// routes has all endpoints: those of each file of handlers.
var routes = slices.Concat(pushRoutes, metricsRoutes, readRoutes)
