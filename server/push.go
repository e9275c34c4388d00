package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/lokipush"
)

var pushRoutes = []route{
	{"POST", pushPath, pushing, (*Server).servePush},
	{"POST", "/api/prom/push", pushing, (*Server).servePush},
}

const pushPath = "/loki/api/v1/push"

// Headers of stele push. Of requests: where the entries come from, see
// logstore.AppendOptions, the source as url.PathEscape writes it, and without an offset each
// entry of the protobuf has its own; or the key of the batch, in hexadecimal, which is else
// the hash of the body. Of answers: how many entries of a source were kept, and how many
// were known; and how many were refused with status 400, all others being kept.
const (
	sourceHeader  = "X-Stele-Source"
	offsetHeader  = "X-Stele-Offset"
	keyHeader     = "X-Stele-Key"
	keptHeader    = "X-Stele-Kept"
	knownHeader   = "X-Stele-Known"
	refusedHeader = "X-Stele-Refused"
)

// maxSource is the longest name of a source that a store takes, in bytes.
const maxSource = 256

// A pusher appends what is pushed.
type pusher struct {
	store  *logstore.Store
	o      PushLimits
	limits lokipush.Limits
	cache  *lokipush.Cache
	memory *semaphore.Weighted // bytes of bodies under way
	shared sharedDeadline
	again  refusedBefore
	warned atomic.Bool // of a tenant that is ignored
	m      pushMetrics
}

func newPusher(s *Server) *pusher {
	p := &s.o.Push
	return &pusher{
		store: s.store, o: *p,
		limits: lokipush.Limits{
			Streams: p.Streams, Entries: p.Entries, Labels: p.Labels, LabelName: p.LabelName, LabelValue: p.LabelValue,
			Metadata: p.Metadata, MetadataBytes: p.MetadataBytes,
		},
		cache:  lokipush.NewCache(p.LabelCache, s.o.DiscoverServiceName, s.o.DiscoverLogLevels),
		memory: semaphore.New(p.Memory),
		shared: sharedDeadline{wait: p.Wait},
		m:      newPushMetrics(s.metrics.registry),
	}
}

// A push is a request that pushes.
type push struct {
	tenant             string
	contentType        string
	encoding           string
	length             int64 // -1: not known
	source, offsetText string
	keyText            string
	body               io.Reader
	ready              []byte    // the body, instead of a reader, if it has been read
	begun              time.Time // when the body was there and had memory

	of    *pusher
	held  int64 // bytes of memory that it has
	spare int64 // of those, not in use
	given logstore.Appended
}

// servePush answers a push that net/http has read.
func (s *Server) servePush(w http.ResponseWriter, c *call) error {
	h := c.Header
	for _, name := range [...]string{"Content-Encoding", sourceHeader, offsetHeader, keyHeader} {
		if n := len(h[name]); n > 1 {
			return refuse(http.StatusBadRequest, "%s is there %d times; want it once", name, n)
		}
	}
	p := push{
		tenant: c.tenant, contentType: h.Get("Content-Type"), encoding: h.Get("Content-Encoding"), length: c.ContentLength,
		source: h.Get(sourceHeader), offsetText: h.Get(offsetHeader), keyText: h.Get(keyHeader),
		body: c.Body, begun: time.Now(),
	}
	if err := s.pusher.serve(&p); err != nil {
		return err
	}
	if p.tells() {
		w.Header().Set(keptHeader, strconv.Itoa(p.given.Kept))
		w.Header().Set(knownHeader, strconv.Itoa(p.given.Known))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// serve reads a push, and appends it. It returns once the entries are durable. An error
// has a status.
func (u *pusher) serve(p *push) error {
	if err := p.checkNames(); err != nil {
		return err
	}
	p.of = u
	defer u.free(p)
	body, raw, err := u.read(p)
	if raw != nil {
		defer raw.release()
	}
	if err != nil {
		return err
	}
	if p.ready == nil {
		p.begun = time.Now()
	}
	key, err := p.key(body) // now, as JSON is decoded where it is
	if err != nil {
		return err
	}
	plain, buf, err := u.decompress(p, body)
	if buf != nil {
		defer buf.release()
	}
	if err != nil {
		return err
	}
	d := lokipush.Get(u.limits, u.cache, p)
	defer d.Release()
	if isJSON(p.contentType) {
		err = d.JSON(plain)
	} else {
		err = d.Protobuf(plain)
	}
	decoded := time.Now()
	u.m.decode.Record(decoded.Sub(p.begun))
	if _, malformed := errors.AsType[*lokipush.Error](err); malformed {
		u.m.malformed.Inc()
		return refuse(http.StatusBadRequest, "%w", err)
	}
	if err != nil {
		return err
	}
	if !d.HasStreams() {
		return errNoStreams
	}
	return u.append(p, d, key, decoded)
}

// errNoStreams is the answer of Loki to a push of nothing.
var errNoStreams = refuse(http.StatusUnprocessableEntity, "error at least one valid stream is required for ingestion")

// checkNames refuses headers that mean nothing by themselves.
func (p *push) checkNames() error {
	if p.offsetText != "" && p.source == "" {
		return refuse(http.StatusBadRequest, "%s without %s; want both, or neither", offsetHeader, sourceHeader)
	}
	return nil
}

// key returns the key of the batch, zero if it has a source.
func (p *push) key(body []byte) (key [16]byte, err error) {
	switch {
	case p.keyText != "":
		raw, err := hex.DecodeString(p.keyText)
		if err != nil || len(raw) != len(key) || [16]byte(raw) == key {
			return key, refuse(http.StatusBadRequest, "%s: %.100q; want %d hexadecimal digits that are not all 0", keyHeader, p.keyText, 2*len(key))
		}
		copy(key[:], raw)
	case p.source == "":
		sum := sha256.Sum256(body)
		copy(key[:], sum[:])
	}
	return key, nil
}

// tells reports whether the answer says what became of the entries: they have a source, or some
// were known.
func (p *push) tells() bool { return p.source != "" || p.given.Known > 0 }

// append appends a push that was decoded just now. Its key is the hash of its body as it was sent.
func (u *pusher) append(p *push, d *lokipush.Decoder, key [16]byte, now time.Time) error {
	o := logstore.AppendOptions{Tenant: p.tenant, Key: key}
	if p.source != "" {
		if err := p.setSource(&o, d); err != nil {
			return err
		}
	}
	var rejected *logstore.RejectedError
	if d.Entries() > d.Refused().Entries() {
		var err error
		if p.given, err = u.store.AppendWith(u.shared.context(now), d.Batch(), o); err != nil {
			var some bool
			if rejected, some = errors.AsType[*logstore.RejectedError](err); !some {
				return u.failure(err)
			}
		}
	}
	u.m.count(d, p.given)
	return u.again.tell(pushName{p.tenant, key}, &p.given, u.rejection(p, d, rejected))
}

// setSource sets where the entries come from.
func (p *push) setSource(o *logstore.AppendOptions, d *lokipush.Decoder) (err error) {
	if o.Source, err = url.PathUnescape(p.source); err != nil || o.Source == "" || len(o.Source) > maxSource {
		return refuse(http.StatusBadRequest, "%s: %q; want a name of 1 to %d bytes, percent-encoded", sourceHeader, p.source, maxSource)
	}
	if p.offsetText == "" {
		if o.Offsets = d.Offsets(); o.Offsets == nil && d.Entries() > 0 {
			return refuse(http.StatusBadRequest, "%s without %s; want that, or an offset with each entry", sourceHeader, offsetHeader)
		}
		return nil
	}
	if o.Offset, err = strconv.ParseUint(p.offsetText, 10, 64); err != nil {
		return refuse(http.StatusBadRequest, "%s: %q; want a number of 64 bits", offsetHeader, p.offsetText)
	}
	return nil
}

// failure returns the error of an append with its status.
func (u *pusher) failure(err error) error {
	switch {
	case errors.Is(err, errPushWait) && !errors.Is(err, logstore.ErrUnsure):
		u.m.noMemory.Inc()
		return retryLater(http.StatusTooManyRequests, 1, "the store had no memory for the push in %v: %w", u.o.Wait, err)
	case errors.Is(err, errPushWait):
		return retryLater(http.StatusServiceUnavailable, 1, "%w", err)
	case errors.Is(err, logstore.ErrTooManyTenants):
		return retryLater(http.StatusTooManyRequests, 60, "%w", err)
	}
	return asStatus(err) // 500 and above for what the store cannot do, so that clients send it again
}

// isJSON reports whether a push of a Content-Type is JSON. All others are protobuf.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// errPushWait ends the waiting of a push.
var errPushWait = errors.New("it has waited too long")

// A sharedDeadline makes contexts that end after wait, or up to a second later: all
// calls of a second share one, so that a push needs no timer of its own.
type sharedDeadline struct {
	wait time.Duration
	now  atomic.Pointer[deadline]
}

type deadline struct {
	context.Context
	cancel context.CancelFunc // its timer ends it; this only when nobody got it
	until  int64              // until when it is given out, Unix time in ns
}

func (s *sharedDeadline) context(now time.Time) context.Context {
	d := s.now.Load()
	if d != nil && now.UnixNano() < d.until {
		return d
	}
	ctx, cancel := context.WithDeadlineCause(context.Background(), now.Add(s.wait+time.Second), errPushWait)
	next := &deadline{ctx, cancel, now.Add(time.Second).UnixNano()}
	if !s.now.CompareAndSwap(d, next) {
		next.cancel()
		return s.now.Load()
	}
	return next
}
