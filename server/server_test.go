package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

// newServer returns a server over a store of its own.
func newServer(t testing.TB, o Options) *Server {
	t.Helper()
	store, err := logstore.Open(t.TempDir(), logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// get asks a server, without a connection.
func get(s *Server, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:3100"
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestForeign(t *testing.T) {
	s := newServer(t, Options{Hosts: []string{"logs.example"}})
	for _, c := range []struct {
		headers string
		want    int
	}{
		{"Host: 127.0.0.1:3100", 200}, {"Host: [::1]:3100", 200}, {"Host: localhost", 200}, {"Host: LOGS.example:80", 200}, {"Host: a.localhost", 200},
		{"Host: evil.example", 403}, {"Host: localhost.evil.example", 403}, {"Host: 127.0.0.1.evil.example:3100", 403},
		{"Origin: http://evil.example", 403}, {"Origin: null", 403}, {"Origin: http://127.0.0.1:3100", 200}, {"Origin: http://127.0.0.1:80", 403},
		{"Origin: http://localhost:8080", 403}, {"Origin: https://logs.example", 200}, {"Sec-Fetch-Site: cross-site", 403}, {"Sec-Fetch-Site: none", 200},
	} {
		name, value, _ := strings.Cut(c.headers, ": ")
		w := get(s, "GET", "/metrics", name, value)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.headers, w.Code, c.want)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: CORS", c.headers)
		}
	}
}

func TestShutdownRefuses(t *testing.T) {
	s := newServer(t, Options{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := get(s, "POST", "/loki/api/v1/push"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Error(w.Code, w.Header(), w.Body)
	}
	if w := get(s, "GET", "/metrics"); w.Code != http.StatusOK {
		t.Error(w.Code)
	}
}

func TestTenants(t *testing.T) {
	s := newServer(t, Options{Tenants: true})
	for header, want := range map[string]int{"": 401, "a|b": 400, "a/b": 400, "..": 400, strings.Repeat("a", 129): 400} {
		if w := get(s, "POST", "/loki/api/v1/push", "X-Scope-OrgID", header); w.Code != want {
			t.Errorf("%q: %d %s, want %d", header, w.Code, w.Body, want)
		}
	}
}
