package server

import (
	"net/http/httptest"
	"testing"
	"time"
)

// What a client may take to read an export grows with what it has read.
func TestExportWaitsForItsClient(t *testing.T) {
	w := &exportWriter{ResponseWriter: httptest.NewRecorder()}
	w.waited = exportPatience - time.Minute
	if _, err := w.Write(make([]byte, 100)); err != nil {
		t.Error(err)
	}
	w.waited = exportPatience + time.Minute
	if _, err := w.Write(make([]byte, 100)); err == nil {
		t.Error("a client that is too slow is waited for")
	}
	if err := w.FlushError(); err == nil {
		t.Error("a client that is too slow is waited for by a flush")
	}
	w.written += 120 * exportRate
	if _, err := w.Write(make([]byte, 100)); err != nil {
		t.Error(err)
	}
}

// A client that is too slow altogether ends its export, and so its turn.
func TestSlowExportEnds(t *testing.T) {
	w := &exportWriter{ResponseWriter: httptest.NewRecorder(), waited: exportPatience + time.Hour}
	c := &call{Request: httptest.NewRequest("GET", "/", nil)}
	b := newBody(w, c, "text/plain", 200)
	b.String("x")
	if err := b.end(); err == nil {
		t.Error("no error")
	}
}
