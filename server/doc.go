// Package server serves a log store over Loki's HTTP protocol: agents push lines,
// and Grafana, logcli and others ask by LogQL.
//
//	s, err := server.New(store, server.Options{})
//	err = s.Serve(listener)       // until Shutdown
//	err = s.Shutdown(ctx)
//
// A request passes these steps, each in a file of its own:
//
//	listen.go   connections: how many there may be, and how slow they may be
//	direct*.go  pushes in the plainest form are read and answered here; all other
//	            requests are for net/http
//	guard.go    a foreign Host or Origin is refused, so that no page in a browser
//	            reaches a server on loopback
//	route.go    the table of the endpoints: the one place that lists them
//	server.go   each call is counted, has a tenant, and is refused during a shutdown
//	push.go     a push is decoded, and appended in one batch
//
// # What survives
//
// A push is answered with 204 once all its lines are as durable as the store's
// Options.Level says, a power cut included by default, and from then on each query finds
// them. The key of a batch is the hash of the body, so a push that is sent again within
// the store's Options.KeyWindow, byte for byte, keeps nothing twice.
package server
