package serve

import (
	"io"
	"net"
	"net/http"
)

// serveEmpty answers 204 to everything, and reads the bodies: what clients and net/http take
// without a store.
func serveEmpty(l net.Listener) {
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
}
