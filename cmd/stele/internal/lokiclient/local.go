package lokiclient

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// LocalAddr is the address of a handler of this process.
const LocalAddr = "http://localhost"

// Local returns a transport that passes requests to a handler of this process, without a
// socket. Answers stream.
func Local(h http.Handler) http.RoundTripper { return localTransport{h} }

type localTransport struct{ handler http.Handler }

func (t localTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r := req.Clone(req.Context())
	if r.Host == "" {
		r.Host = req.URL.Host
	}
	r.RemoteAddr = "127.0.0.1:0"
	r.RequestURI = req.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &localWriter{header: http.Header{}, body: pw, begun: make(chan struct{})}
	go func() {
		defer func() {
			if p := recover(); p != nil {
				w.begin(http.StatusInternalServerError)
				pw.CloseWithError(fmt.Errorf("the handler panics: %v", p))
			}
		}()
		t.handler.ServeHTTP(w, r)
		w.begin(http.StatusOK)
		pw.Close()
	}()
	select {
	case <-w.begun:
	case <-req.Context().Done():
		pr.CloseWithError(req.Context().Err())
		return nil, req.Context().Err()
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: pr, ContentLength: -1, Request: req,
	}, nil
}

// A localWriter is the writer of one answer.
type localWriter struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	once         sync.Once
	begun        chan struct{}
}

func (w *localWriter) Header() http.Header { return w.header }

func (w *localWriter) WriteHeader(status int) {
	if status >= 200 {
		w.begin(status)
	}
}

func (w *localWriter) begin(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

func (w *localWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	n, err := w.body.Write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = http.ErrAbortHandler
	}
	return n, err
}

// Flush does nothing: each write is read at once.
func (w *localWriter) Flush() {}

// SetReadDeadline does nothing: there is no connection. A handler calls
// it by http.ResponseController.
func (w *localWriter) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing, as SetReadDeadline.
func (w *localWriter) SetWriteDeadline(time.Time) error { return nil }
