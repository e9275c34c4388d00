package server

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stele-go/stele/server/internal/lokijson"
)

// answerRate is how many bytes a second of an answer a client must take beside
// ConnLimits.Write, else its connection is closed: the answer takes memory until then.
const answerRate = 64 << 10

// gzipFrom is the least size of an answer that is compressed.
const gzipFrom = 1400

// A body writes the body of an answer as JSON, compressed if the client takes that.
type body struct {
	*lokijson.Writer
	w        http.ResponseWriter
	control  *http.ResponseController
	status   int
	gzip     *gzip.Writer  // nil unless the answer is compressed
	accepted bool          // by the client: gzip
	patient  bool          // the answer is an export, which takes no memory and has a rate of its own
	limit    time.Duration // 0: there are no deadlines
	started  bool
	begun    time.Time
	written  int64
}

var bodies = sync.Pool{New: func() any {
	b := &body{}
	b.Writer = lokijson.New(b)
	return b
}}

var gzips = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
	return z
}}

// newBody returns a body that is written with status; end must follow.
func newBody(w http.ResponseWriter, c *call, contentType string, status int) *body {
	b := bodies.Get().(*body)
	*b = body{
		Writer: b.Writer, w: w, control: http.NewResponseController(w), status: status,
		accepted: acceptsGzip(c.Header.Get("Accept-Encoding")), limit: c.patience, begun: time.Now(),
	}
	b.Reset(b)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Add("Vary", "Accept-Encoding")
	return b
}

// Write writes bytes of JSON.
func (b *body) Write(p []byte) (int, error) {
	if !b.started {
		b.started = true
		if b.accepted && len(p) >= gzipFrom {
			b.w.Header().Set("Content-Encoding", "gzip")
			b.gzip = gzips.Get().(*gzip.Writer)
			b.gzip.Reset(b.w)
		}
		b.w.WriteHeader(b.status)
	}
	b.written += int64(len(p))
	if b.limit > 0 {
		if err := b.control.SetWriteDeadline(b.deadline(time.Now())); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return 0, err
		}
	}
	if b.gzip != nil {
		return b.gzip.Write(p)
	}
	return b.w.Write(p)
}

// deadline returns the deadline of the next bytes.
func (b *body) deadline(now time.Time) time.Time {
	next := now.Add(b.limit)
	if paced := b.begun.Add(b.limit + time.Duration(b.written/answerRate)*time.Second); !b.patient && paced.Before(next) {
		return paced
	}
	return next
}

// sync sends what was written so far.
func (b *body) sync() error {
	if err := b.Flush(); err != nil {
		return err
	}
	if b.gzip != nil {
		if err := b.gzip.Flush(); err != nil {
			return err
		}
	}
	if err := b.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// end writes the rest. Its error is that of the first write that failed: the client is
// gone, and nobody can be told.
func (b *body) end() error {
	err := b.Flush()
	if b.gzip != nil {
		if err == nil {
			err = b.gzip.Close()
		}
		b.gzip.Reset(nil)
		gzips.Put(b.gzip)
	}
	*b = body{Writer: b.Writer}
	b.Reset(nil)
	bodies.Put(b)
	return err
}

const jsonType = "application/json; charset=UTF-8"

// answerJSON answers with the JSON that write writes.
func answerJSON(w http.ResponseWriter, c *call, status int, write func(*body)) {
	b := newBody(w, c, jsonType, status)
	write(b)
	_ = b.end()
}

// acceptsGzip reads the header Accept-Encoding.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.ReplaceAll(weight, " ", "")
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
