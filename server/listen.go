package server

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// conns are the connections of a server.
type conns struct {
	http http.Server
}

func newConns(s *Server) *conns {
	return &conns{http: http.Server{
		Handler: s, ReadHeaderTimeout: s.o.Conns.Header, IdleTimeout: s.o.Conns.Idle,
	}}
}

func (c *conns) close(ctx context.Context) {
	if c.http.Shutdown(ctx) != nil {
		_ = c.http.Close()
	}
}

// Serve answers the requests of connections that it accepts from l, until Shutdown, after
// which it returns nil, or until l fails. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.conns.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
