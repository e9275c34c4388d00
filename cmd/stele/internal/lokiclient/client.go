// Package lokiclient asks a server that speaks Loki's HTTP protocol: stele serve, or
// Loki itself.
//
//	client.go    requests, and errors of answers
//	query.go     query, query_range, and their results
//	metadata.go  labels, values and series
//	tail.go      new lines, over a WebSocket
//	export.go    all lines of a query, from stele serve
//	alive.go     whether a server that answers slowly is there
//	push.go      pushes, and what the server knows of a source
//	protobuf.go  the body of a push
//	local.go     a handler of this process instead of a server
package lokiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/setting"
)

// Options say which server to ask, and how.
type Options struct {
	// Addr is the URL of the server, http://127.0.0.1:3100. A user and password in it are
	// sent by basic authentication.
	Addr string
	// Tenant is sent as X-Scope-OrgID, unless it is empty.
	Tenant string
	// Transport, unless nil, takes the requests instead of the network: see Local.
	Transport http.RoundTripper
	// Timeout bounds a request that does not stream, the handshake of a tail, and the time in
	// which a server of which an export is waited for answers nothing at all; 0 means no limit.
	Timeout time.Duration
}

// A Client asks one server. Many goroutines may use it.
type Client struct {
	base *url.URL
	o    Options
	http *http.Client

	tailPing, tailPong time.Duration
	probe              time.Duration // until a server that says nothing is asked whether it is there
}

// New returns a client. It asks nothing yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.Addr)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, setting.Wrong("--addr", o.Addr, "a URL such as http://127.0.0.1:3100")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	t := o.Transport
	if t == nil {
		t = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2: true,
		}
	}
	return &Client{base: u, o: o, http: &http.Client{Transport: t}, tailPing: tailPing, tailPong: tailPong, probe: o.Timeout / 2}, nil
}

// Addr is the URL of the server, without a password.
func (c *Client) Addr() string { return c.base.Redacted() }

// An Error is an answer other than success.
type Error struct {
	Status  int // of HTTP
	Message string
	// RetryAfter is how long the server asks to wait, 0 if it does not say.
	RetryAfter time.Duration
	// Refused is how many lines of a push were refused while the others were kept, or 0.
	Refused int
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the server answers %d: %s", e.Status, e.Message)
}

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout ||
		e.Status >= 500 && e.Status != http.StatusNotImplemented && e.Status != http.StatusHTTPVersionNotSupported
}

// Temporary reports whether what failed with err may succeed later: the server could
// not be reached, or says so, or its answer was cut off.
func Temporary(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Temporary()
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	_, unreachable := errors.AsType[*url.Error](err)
	_, cut := errors.AsType[*net.OpError](err)
	return unreachable || cut || errors.Is(err, io.ErrUnexpectedEOF)
}

// maxMessage bounds the message of an error.
const maxMessage = 16 << 10

// get asks by GET, or by POST if the parameters are long. The caller closes the body.
func (c *Client) get(ctx context.Context, path string, params url.Values) (*http.Response, error) {
	query := params.Encode()
	if len(query) < 4096 {
		return c.do(ctx, http.MethodGet, path, query, nil, nil)
	}
	return c.do(ctx, http.MethodPost, path, "", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, strings.NewReader(query))
}

// do sends a request. An answer other than 2xx is an *Error.
func (c *Client) do(ctx context.Context, method, path, query string, header http.Header, body io.Reader) (*http.Response, error) {
	u := *c.base
	u.Path += path
	u.RawQuery = query
	u.User = nil
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	c.identify(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	message, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage)) // the status counts, even if the rest is cut off
	e := &Error{Status: resp.StatusCode, Message: strings.TrimSpace(string(message)), RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	e.Refused, _ = strconv.Atoi(resp.Header.Get("X-Stele-Refused"))
	return nil, e
}

// identify adds the tenant and the user to the headers of a request.
func (c *Client) identify(h http.Header) {
	h.Set("User-Agent", "stele")
	if c.o.Tenant != "" {
		h.Set("X-Scope-OrgID", c.o.Tenant)
	}
	if c.base.User != nil {
		password, _ := c.base.User.Password()
		r := http.Request{Header: h}
		r.SetBasicAuth(c.base.User.Username(), password)
	}
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(text string) time.Duration {
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// bounded returns a context that ends a request which does not stream.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.o.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.o.Timeout, c.noAnswer())
}
