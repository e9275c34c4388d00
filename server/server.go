// Package server serves a log store over Loki's HTTP protocol.
package server

import (
	"net/http"

	"github.com/stele-go/stele/logstore"
)

// Options are the settings of a server.
type Options struct{}

// A Server answers HTTP requests over a store.
type Server struct{}

// New returns a server over store.
func New(store *logstore.Store, o Options) (*Server, error) { return &Server{}, nil }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
