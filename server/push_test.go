package server

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/stele-go/stele/logstore"
)

func protoField(b []byte, n int, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// protoPush is a push of one stream whose lines are a nanosecond apart.
func protoPush(labels string, at int64, lines ...string) []byte {
	stream := protoField(nil, 1, []byte(labels))
	for i, line := range lines {
		stamp := binary.AppendUvarint([]byte{1 << 3}, uint64(at+int64(i))/1e9)
		stamp = binary.AppendUvarint(append(stamp, 2<<3), uint64(at+int64(i))%1e9)
		stream = protoField(stream, 2, protoField(protoField(nil, 1, stamp), 2, []byte(line)))
	}
	return protoField(nil, 1, stream)
}

func jsonPush(labels string, at int64, lines ...string) []byte {
	var values []string
	for i, line := range lines {
		values = append(values, fmt.Sprintf(`["%d",%q]`, at+int64(i), line))
	}
	return []byte(`{"streams":[{"stream":` + labels + `,"values":[` + strings.Join(values, ",") + `]}]}`)
}

func gzipped(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(p)
	w.Close()
	return b.Bytes()
}

func deflated(p []byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 5)
	w.Write(p)
	w.Close()
	return b.Bytes()
}

// stored returns all lines of a tenant, with their labels.
func stored(t testing.TB, s *Server, tenant string) (lines []string) {
	t.Helper()
	for r, err := range s.store.Query(t.Context(), logstore.Query{Tenant: tenant}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%v %d %s %v", r.Labels, r.Time, r.Line, r.Metadata))
	}
	return lines
}

// listen serves on loopback until the test ends, and returns the address.
func listen(t testing.TB, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// A pushCase is a body in one of the forms that clients use.
type pushCase struct {
	name, contentType, encoding string
	body                        func(labels string, at int64, lines ...string) []byte
}

var pushCases = []pushCase{
	{"protobuf", "application/x-protobuf", "", func(l string, at int64, lines ...string) []byte {
		return snappy.Encode(nil, protoPush(textLabels(l), at, lines...))
	}},
	{"protobuf, snappy named", "", "snappy", func(l string, at int64, lines ...string) []byte {
		return snappy.Encode(nil, protoPush(textLabels(l), at, lines...))
	}},
	{"JSON", "application/json; charset=utf-8", "", jsonPush},
	{"JSON, gzip", "application/json", "gzip", func(l string, at int64, lines ...string) []byte { return gzipped(jsonPush(l, at, lines...)) }},
	{"JSON, deflate", "application/json", "deflate", func(l string, at int64, lines ...string) []byte { return deflated(jsonPush(l, at, lines...)) }},
	{"JSON, snappy", "application/json", "snappy", func(l string, at int64, lines ...string) []byte { return snappy.Encode(nil, jsonPush(l, at, lines...)) }},
	{"protobuf, gzip", "application/x-protobuf", "gzip", func(l string, at int64, lines ...string) []byte {
		return gzipped(snappy.Encode(nil, protoPush(textLabels(l), at, lines...)))
	}},
}

// textLabels makes {app="api"} of {"app":"api"}.
func textLabels(json string) string {
	var l logstore.Labels
	if err := l.UnmarshalJSON([]byte(json)); err != nil {
		panic(err)
	}
	return l.String()
}

// A raw client says exactly what it is told.
type rawClient struct {
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *rawClient {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &rawClient{c, bufio.NewReader(c)}
}

func (c *rawClient) do(t testing.TB, request string) (*http.Response, string) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c.answer(t)
}

func (c *rawClient) answer(t testing.TB) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func pushRequest(contentType, encoding string, body []byte, headers ...string) string {
	h := "POST /loki/api/v1/push HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: test\r\n"
	if contentType != "" {
		h += "Content-Type: " + contentType + "\r\n"
	}
	if encoding != "" {
		h += "Content-Encoding: " + encoding + "\r\n"
	}
	for p := range slices.Chunk(headers, 2) {
		h += p[0] + ": " + p[1] + "\r\n"
	}
	return h + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + string(body)
}

// Each form is read by the direct reader and by net/http alike, small and large.
func TestPushForms(t *testing.T) {
	large := make([]string, 3000)
	for i := range large {
		large[i] = fmt.Sprintf("line %d of many, which do not fit into the buffer of a connection %x", i, i*i*7919)
	}
	s := newServer(t, Options{})
	addr := listen(t, s)
	direct := dial(t, addr)
	want := []string{}
	at := int64(1e18)
	for _, c := range pushCases {
		for _, lines := range [][]string{{"one line"}, large, {"two", "lines"}} {
			for _, way := range []string{"direct", "net/http", "chunked"} {
				body := c.body(fmt.Sprintf(`{"way":%q}`, c.name+way), at, lines...)
				for i, l := range lines {
					want = append(want, fmt.Sprintf("{way=%q} %d %s {}", c.name+way, at+int64(i), l))
				}
				at += 10_000
				var status int
				var text string
				if way == "direct" {
					res, b := direct.do(t, pushRequest(c.contentType, c.encoding, body))
					status, text = res.StatusCode, b
				} else {
					r := httptest.NewRequest("POST", "/loki/api/v1/push", bytes.NewReader(body))
					if way == "chunked" {
						r = httptest.NewRequest("POST", "/api/prom/push", struct{ io.Reader }{bytes.NewReader(body)})
						r.ContentLength = -1
					}
					r.Host = "127.0.0.1"
					r.Header.Set("Content-Type", c.contentType)
					r.Header.Set("Content-Encoding", c.encoding)
					w := httptest.NewRecorder()
					s.ServeHTTP(w, r)
					status, text = w.Code, w.Body.String()
				}
				if status != http.StatusNoContent {
					t.Fatalf("%s, %s: %d %s", c.name, way, status, text)
				}
			}
		}
	}
	if got := stored(t, s, ""); !slices.Equal(got, want) {
		t.Errorf("%d lines are stored, want %d", len(got), len(want))
	}
	if n := s.conns.open.Load(); n != 1 {
		t.Error(n, "connections")
	}
	if free := s.pusher.memory.Free(); free != s.pusher.o.Memory {
		t.Error(s.pusher.o.Memory-free, "bytes of memory are not given back")
	}
}

// A body that is sent again keeps nothing twice, and equal lines in another body are kept.
func TestPushAgain(t *testing.T) {
	s := newServer(t, Options{})
	c := dial(t, listen(t, s))
	body := jsonPush(`{"a":"1"}`, 5, "same", "other")
	for range 3 {
		if res, text := c.do(t, pushRequest("application/json", "", body)); res.StatusCode != 204 {
			t.Fatal(res.StatusCode, text)
		}
	}
	c.do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 5, "same")))
	if got := stored(t, s, ""); len(got) != 3 {
		t.Error(got)
	}
}

// What is refused is listed, and all else is kept.
func TestPushRefused(t *testing.T) {
	s := newServer(t, Options{})
	c := dial(t, listen(t, s))
	long := strings.Repeat("x", 300<<10)
	body := []byte(`{"streams":[{"stream":{},"values":[["7","no labels"]]},{"stream":{"a":"1"},"values":[["1","kept"],["2","` + long + `"],["-5","old"],["3","kept too"]]}]}`)
	res, text := c.do(t, pushRequest("application/json", "", body))
	if res.StatusCode != 400 {
		t.Fatal(res.StatusCode, text)
	}
	if got := res.Header.Get(refusedHeader); got != "3" {
		t.Errorf("%s: %s", refusedHeader, got)
	}
	for _, want := range []string{"at least one label pair is required per stream", "line is too long", "entry is too old", "total ignored: 3 out of 5"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in: %s", want, text)
		}
	}
	if got := stored(t, s, ""); len(got) != 2 {
		t.Error(got)
	}
	if res, _ := c.do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 9, "the connection goes on"))); res.StatusCode != 204 {
		t.Error(res.StatusCode)
	}
}

func TestPushTenants(t *testing.T) {
	s := newServer(t, Options{Tenants: true})
	c := dial(t, listen(t, s))
	body := jsonPush(`{"a":"1"}`, 5, "x")
	for tenant, want := range map[string]int{"one": 204, "two": 204, "": 401, "a|b": 400} {
		if res, text := c.do(t, pushRequest("application/json", "", body, "X-Scope-OrgID", tenant)); res.StatusCode != want {
			t.Errorf("%q: %d %s", tenant, res.StatusCode, text)
		}
	}
	if res, text := c.do(t, pushRequest("application/json", "", body)); res.StatusCode != 401 || text != "no org id\n" {
		t.Error(res.StatusCode, text)
	}
	if len(stored(t, s, "one")) != 1 || len(stored(t, s, "two")) != 1 || len(stored(t, s, "")) != 0 {
		t.Error("tenants are mixed up")
	}
}

// A source has each of its entries once, whatever the bodies.
func TestPushSource(t *testing.T) {
	s := newServer(t, Options{})
	c := dial(t, listen(t, s))
	for i, want := range []string{"3 0", "1 2", "0 3"} {
		body := jsonPush(`{"a":"1"}`, 5, []string{"a", "b", "c", "d"}[:3]...)
		offset := []string{"10", "11", "11"}[i]
		res, text := c.do(t, pushRequest("application/json", "", body, "X-Stele-Source", "file", "X-Stele-Offset", offset))
		if got := res.Header.Get(keptHeader) + " " + res.Header.Get(knownHeader); res.StatusCode != 204 || got != want {
			t.Error(res.StatusCode, text, got, want)
		}
	}
	if res, _ := c.do(t, pushRequest("application/json", "", jsonPush(`{"a":"1"}`, 5, "a"), "X-Stele-Source", "file")); res.StatusCode != 400 {
		t.Error(res.StatusCode)
	}
}

// Several requests may be in one packet, and one in many.
func TestPushPipelined(t *testing.T) {
	s := newServer(t, Options{})
	c := dial(t, listen(t, s))
	var all string
	const n = 50
	for i := range n {
		all += pushRequest("application/json", "", jsonPush(`{"a":"1"}`, int64(i), strings.Repeat("line ", 1+i*7)))
	}
	all += "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	go func() {
		for p := []byte(all); len(p) > 0; {
			k := min(len(p), 777)
			if _, err := c.Write(p[:k]); err != nil {
				return
			}
			p = p[k:]
		}
	}()
	for i := range n {
		if res, text := c.answer(t); res.StatusCode != 204 {
			t.Fatal(i, res.StatusCode, text)
		}
	}
	if res, text := c.answer(t); res.StatusCode != 200 || !strings.Contains(text, "stele_push_direct_total 50\n") {
		t.Error(res.StatusCode, text)
	}
	if got := stored(t, s, ""); len(got) != n {
		t.Error(len(got))
	}
}
