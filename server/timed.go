package server

import (
	"io"
	"net/http"
	"time"
)

// timed is the handler of the connections that Serve accepts. It gives each request its
// deadlines, also one that is refused: its body must come at ConnLimits.BodyRate, and its
// answer must be taken within ConnLimits.Write of its first byte. Inside another server the
// limits of that one count, so a Server itself sets none.
type timed struct{ s *Server }

// ServeHTTP answers a request.
func (t timed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := &t.s.o.Conns
	control := http.NewResponseController(w)
	if r.Body != nil && r.Body != http.NoBody {
		body := &pacedBody{pacedReader: newPacedReader(r.Body, control.SetReadDeadline, o), Closer: r.Body}
		body.hurry() // for a handler that reads none of it, too: net/http reads what is left
		r.Body = body
	}
	out := &answer{ResponseWriter: w, limit: o.Write}
	t.s.ServeHTTP(out, r)
	out.hurry() // net/http has not sent the rest yet
}

// A pacedBody is the body of a request, which must come at ConnLimits.BodyRate.
type pacedBody struct {
	*pacedReader
	io.Closer
	ended bool
}

// Read reads a part. Behind the last one there is no deadline: from then on net/http
// reads only to see whether the client leaves.
func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.pacedReader.Read(p)
	if err == io.EOF {
		b.ended = true
		_ = b.set(time.Time{})
	}
	return n, err
}

// pause takes d, in which nobody could read the body, out of its time.
func (b *pacedBody) pause(d time.Duration) {
	if b.begun = b.begun.Add(d); !b.ended {
		b.hurry()
	}
}

// pauseBody tells the body of a request that nobody could read it for a while.
func pauseBody(body io.Reader, d time.Duration) {
	if b, ok := body.(interface{ pause(time.Duration) }); ok {
		b.pause(d)
	}
}

// A pacedReader reads a body that must come at ConnLimits.BodyRate.
type pacedReader struct {
	r     io.Reader
	set   func(time.Time) error
	o     *ConnLimits
	begun time.Time
	n     int64
}

func newPacedReader(r io.Reader, set func(time.Time) error, o *ConnLimits) *pacedReader {
	return &pacedReader{r: r, set: set, o: o, begun: time.Now()}
}

// pace is how many bytes may come under one deadline.
const pace = 256 << 10

// hurry sets the deadline of the next bytes.
func (r *pacedReader) hurry() {
	// A writer without deadlines, as in a test, has none.
	_ = r.set(r.begun.Add(r.o.Body + time.Duration(float64(r.n+pace)/float64(r.o.BodyRate)*float64(time.Second))))
}

// Read reads a part.
func (r *pacedReader) Read(p []byte) (int, error) {
	if r.n%pace == 0 || len(p) > pace {
		r.hurry()
	}
	n, err := r.r.Read(p[:min(len(p), int(pace-r.n%pace))])
	r.n += int64(n)
	return n, err
}
