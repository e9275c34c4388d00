package server

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

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
		if values := r.Header.Values(name); len(values) > 0 && values[len(values)-1] != string(got) {
			t.Errorf("%q: %s: %q; net/http has %q", text, name, got, values)
		}
	}
	if r.ContentLength != h.length || r.Host != string(h.host) || len(r.TransferEncoding) > 0 || r.Close {
		t.Errorf("%q: %d bytes for %q; net/http has %d for %q", text, h.length, h.host, r.ContentLength, r.Host)
	}
}
