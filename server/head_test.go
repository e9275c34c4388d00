package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// statuses sends requests, and returns the statuses of all answers until the connection ends.
func statuses(t *testing.T, addr, requests string) (list []int) {
	t.Helper()
	c := dial(t, addr)
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, requests); err != nil {
		t.Fatal(err)
	}
	for {
		res, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return list
		}
		_, _ = io.Copy(io.Discard, res.Body) // an answer that is cut has its status
		list = append(list, res.StatusCode)
	}
}

// Odd requests mean the same whether a push is read directly or by net/http: where one ends, and
// what its headers say. Two that differ would let a request be smuggled past a proxy.
func TestBothReadersAgree(t *testing.T) {
	s := newServer(t, Options{Tenants: true, Push: PushLimits{Body: 1 << 10}})
	direct := listen(t, s)
	web := httptest.NewServer(s)
	defer web.Close()
	const body = `{"streams":[{"stream":{"a":"1"},"values":[["1","x"]]}]}`
	const host, typed, named = "Host: 127.0.0.1\r\n", "Content-Type: application/json\r\n", "X-Scope-OrgID: a\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	plain := host + typed + named
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	key := strings.Repeat("1", 32)
	for _, c := range []struct {
		name, head, body string
		want             int
	}{
		{"plain", plain + length, body, 204},
		{"upper case", strings.ToUpper(host+named+length) + "CONTENT-TYPE: application/json\r\n", body, 204},
		{"no blanks", strings.ReplaceAll(plain+length, ": ", ":"), body, 204},
		{"blanks around", strings.ReplaceAll(strings.ReplaceAll(plain+length, ": ", ": \t "), "\r\n", " \t\r\n"), body, 204},
		{"a blank before the colon", plain + strings.Replace(length, ":", " :", 1), body, 400},
		{"a tab before the colon", plain + length + "X-A\t: b\r\n", body, 400},
		{"no colon", plain + length + "X-A\r\n", body, 400},
		{"no name", plain + length + ": a\r\n", body, 400},
		{"a blank in front", " " + plain + length, body, 400},
		{"folded", plain + length + "X-A: b\r\n c\r\n", body, 204},
		{"a folded length", plain + "Content-Length:\r\n 5\r\n", "abcde", 400},
		{"a folded tenant", host + typed + length + "X-Scope-OrgID: a\r\n b\r\n", body, 204},
		{"LF", plain + "X-A: b\n" + length, body, 204},
		{"LF in a value", plain + length + "X-A: b\nX-Scope-OrgID: b\r\n", body, 400},
		{"LF at the end", plain + length + "X-A: b\n\n", body[:len(body)-2] + "\r\n", 400},
		{"CR in a value", plain + length + "X-A: b\rc\r\n", body, 400},
		{"NUL in a value", plain + length + "X-A: b\x00c\r\n", body, 400},
		{"NUL in a name", plain + length + "X-A\x00: b\r\n", body, 400},
		{"NUL in the tenant", host + typed + length + "X-Scope-OrgID: a\x00b\r\n", body, 400},
		{"DEL in a value", plain + length + "X-A: b\x7f\r\n", body, 400},
		{"no ASCII in a value", plain + length + "X-A: \xfc\r\n", body, 204},
		{"no ASCII in a name", plain + length + "X-\xfc: a\r\n", body, 400},
		{"underlined", plain + length + "Content_Length: 5\r\n", body, 204},
		{"no host", typed + named + length, body, 400},
		{"an empty host", "Host:\r\n" + typed + named + length, body, 204},
		{"two hosts", plain + length + host, body, 400},
		{"an odd host", "Host: a b\r\n" + typed + named + length, body, 400},
		{"a host of no ASCII", "Host: \xfc.localhost\r\n" + typed + named + length, body, 400},
		{"an odd localhost", "Host: a{}.localhost\r\n" + typed + named + length, body, 400},
		{"no length", plain, "", 400},
		{"length 0", plain + "Content-Length: 0\r\n", "", 400},
		{"an empty length", plain + "Content-Length:\r\n", "", 400},
		{"zeros in front", plain + strings.Replace(length, ": ", ": 000", 1), body, 204},
		{"a sign", plain + "Content-Length: +5\r\n", "abcde", 400},
		{"minus", plain + "Content-Length: -5\r\n", "abcde", 400},
		{"hexadecimal", plain + "Content-Length: 0x5\r\n", "abcde", 400},
		{"a point", plain + "Content-Length: 5.0\r\n", "abcde", 400},
		{"more than 64 bits", plain + "Content-Length: 99999999999999999999999\r\n", "abcde", 400},
		{"equal lengths", plain + length + length, body, 204},
		{"two lengths", plain + length + "Content-Length: 5\r\n", body, 400},
		{"a list of lengths", plain + fmt.Sprintf("Content-Length: %d, %[1]d\r\n", len(body)), body, 400},
		{"length and chunked", plain + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", chunk, 204},
		{"chunked", plain + "Transfer-Encoding: chunked\r\n", chunk, 204},
		{"Chunked", plain + "transfer-encoding:\tChunked\r\n", chunk, 204},
		{"chunked twice", plain + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", chunk, 501},
		{"chunked, chunked", plain + "Transfer-Encoding: chunked, chunked\r\n", chunk, 501},
		{"identity", plain + length + "Transfer-Encoding: identity\r\n", body, 501},
		{"gzip, chunked", plain + length + "Transfer-Encoding: gzip, chunked\r\n", chunk, 501},
		{"xchunked", plain + length + "Transfer-Encoding: xchunked\r\n", chunk, 501},
		{"chunked, with a blank", plain + length + "Transfer-Encoding : chunked\r\n", chunk, 400},
		{"a trailer", plain + "Trailer: X-Scope-OrgID\r\nTransfer-Encoding: chunked\r\n", strings.TrimSuffix(chunk, "\r\n") + "X-Scope-OrgID: b\r\n\r\n", 204},
		{"expects", plain + length + "Expect: 100-continue\r\n", body, 100},
		{"expects more", plain + length + "Expect: wonders\r\n", body, 417},
		{"no tenant", host + typed + length, body, 401},
		{"an empty tenant", host + typed + length + "X-Scope-OrgID:\r\n", body, 401},
		{"two tenants", plain + length + named, body, 400},
		{"two tenants in one", host + typed + length + "X-Scope-OrgID: a|b\r\n", body, 400},
		{"two types", plain + length + "Content-Type: application/x-protobuf\r\n", body, 204},
		{"two types, JSON last", host + named + length + "Content-Type: application/x-protobuf\r\n" + typed, body, 400},
		{"two encodings", plain + length + "Content-Encoding: identity\r\nContent-Encoding: identity\r\n", body, 400},
		{"a list of encodings", plain + length + "Content-Encoding: identity, identity\r\n", body, 400},
		{"two sources", plain + length + "X-Stele-Source: a\r\nX-Stele-Source: a\r\nX-Stele-Offset: 1\r\n", body, 400},
		{"two offsets", plain + length + "X-Stele-Source: a\r\nX-Stele-Offset: 1\r\nX-Stele-Offset: 1\r\n", body, 400},
		{"two keys", plain + length + "X-Stele-Key: " + key + "\r\nX-Stele-Key: " + key + "\r\n", body, 400},
		{"keep-alive", plain + length + "Connection: Keep-Alive\r\n", body, 204},
		{"close", plain + length + "Connection: close\r\n", body, 204},
		{"keep-alive, close", plain + length + "Connection: keep-alive, close\r\n", body, 204},
		{"long headers", plain + length + strings.Repeat("X-A: "+strings.Repeat("b", 200)+"\r\n", 100), body, 204},
		{"a foreign host", strings.Replace(plain, "127.0.0.1", "evil.example", 1) + length, body, 403},
		{"a foreign origin", plain + length + "Origin: http://evil.example\r\n", body, 403},
		{"a page", plain + length + "Sec-Fetch-Site: cross-site\r\n", body, 403},
	} {
		requests := pushLine + c.head + "\r\n" + c.body + "GET /loki/api/v1/status/buildinfo HTTP/1.1\r\nHost: a.localhost\r\nX-Scope-OrgID: a\r\nConnection: close\r\n\r\n"
		got, want := statuses(t, direct, requests), statuses(t, web.Listener.Addr().String(), requests)
		if len(got) == 0 || got[0] != c.want || !slices.Equal(got, want) {
			t.Errorf("%s: %d; net/http says %d, and the first should be %d", c.name, got, want, c.want)
		}
	}
}

func checkHead(t *testing.T, headers string) {
	text := pushLine + headers + "\r\n"
	if i := strings.Index(text, "\r\n\r\n"); i+4 != len(text) {
		return
	}
	var h directHead
	if !h.parse([]byte(text)) {
		return
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatalf("%q: net/http refuses it: %v", text, err)
	}
	for name, got := range map[string][]byte{
		"Content-Type": h.contentType, "Content-Encoding": h.encoding, "X-Scope-OrgID": h.tenant, sourceHeader: h.source, offsetHeader: h.offset, keyHeader: h.key,
	} {
		if values := r.Header.Values(name); len(values) > 1 || len(values) == 1 && values[0] != string(got) {
			t.Errorf("%q: %s: %q; net/http has %q", text, name, got, values)
		}
	}
	if r.ContentLength != h.length || r.Host != string(h.host) || len(r.TransferEncoding) > 0 || r.Close {
		t.Errorf("%q: %d bytes for %q; net/http has %d for %q", text, h.length, h.host, r.ContentLength, r.Host)
	}
}

// Headers that are the last ones again, but for their length, are read as they are read alone.
func TestHeadsAgain(t *testing.T) {
	heads := []string{
		"Host: a\r\nContent-Length: 7\r\n", "Host: a\r\nContent-Length: 12345\r\n", "Host: a\r\nContent-Length: \r\n",
		"Host: a\r\nContent-Length: 1 \r\n", "Host: a\r\nContent-Length: 1x\r\n", "Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
		"Host: a\r\nContent-Length: 1\r\nConnection: close\r\n", "Content-Length:\t99 \t\r\nHost: b\r\n", "Content-Length:\t1 \t\r\nHost: b\r\n",
		"Host: a\r\nContent-Length: 1\r\nX-Stele-Source: s\r\nX-Stele-Offset: 7\r\n", "Host: a\r\nContent-Length: 20\r\nX-Stele-Source: s\r\nX-Stele-Offset: 8\r\n",
		"Host: a\r\nContent-Length: 99999999999999999999\r\n", "Host: a\r\n", "Host: a\r\nX: " + strings.Repeat("y", maxKnownHead) + "\r\nContent-Length: 5\r\n",
	}
	for _, first := range heads {
		for _, second := range heads {
			var known knownHead
			for _, text := range []string{first, second, first} {
				text = pushLine + text + "\r\n"
				var alone directHead
				want := alone.parse([]byte(text))
				p := []byte(text)
				got := known.read(p)
				if known.text != nil {
					clear(p) // what is kept must be a copy
				}
				alone.lengthFrom, alone.lengthTo = known.lengthFrom, known.lengthTo // of the text that is kept
				if got != want || got && !reflect.DeepEqual(known.directHead, alone) {
					t.Fatalf("%q after %q: %v %+v, want %v %+v", text, first, got, known.directHead, want, alone)
				}
			}
		}
	}
}
