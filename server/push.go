package server

import (
	"net/http"
	"sync/atomic"
)

var pushRoutes = []route{
	{"POST", "/loki/api/v1/push", pushing, (*Server).servePush},
	{"POST", "/api/prom/push", pushing, (*Server).servePush},
}

// A pusher appends what is pushed.
type pusher struct {
	warned atomic.Bool // of a tenant that is ignored
}

func newPusher(s *Server) *pusher { return &pusher{} }

func (s *Server) servePush(w http.ResponseWriter, c *call) error {
	return refuse(http.StatusNotImplemented, "pushes are not served yet")
}
