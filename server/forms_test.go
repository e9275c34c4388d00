package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/server/internal/params"
)

// Large forms share a bounded memory, and small ones need none of it.
func TestFormsAreBounded(t *testing.T) {
	s := newServer(t, Options{Queries: QueryLimits{Wait: 10 * time.Millisecond}})
	post := func(size int) int {
		form := "query=" + strings.Repeat("+", size) + "vector(1)"
		r := httptest.NewRequest("POST", "/loki/api/v1/query", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host = "localhost"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	if _, err := s.forms.room.Acquire(t.Context(), maxForms-smallForm); err != nil {
		t.Fatal(err)
	}
	if small, large := post(100), post(2*smallForm); small != http.StatusOK || large != http.StatusTooManyRequests {
		t.Errorf("a small form: %d, a large one: %d", small, large)
	}
	s.forms.room.Release(maxForms - smallForm)
	if large, tooLarge := post(2*smallForm), post(params.MaxBytes); large != http.StatusOK || tooLarge != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d, one that is too large: %d", large, tooLarge)
	}
	if free := s.forms.room.Free(); free != maxForms {
		t.Errorf("%d bytes are not given back", maxForms-free)
	}
}

// A client has a time for each part of an answer, and a rate.
func TestAnswerDeadlines(t *testing.T) {
	begun := time.Unix(1e9, 0)
	for _, c := range []struct {
		name    string
		patient bool
		written int64
		at, end time.Duration
	}{
		{"first bytes", false, 0, 0, time.Minute},
		{"slow", false, 10 * answerRate, 50 * time.Second, 70 * time.Second},
		{"fast", false, 100 * answerRate, 5 * time.Second, 65 * time.Second},
		{"export", true, 0, time.Hour, time.Hour + time.Minute},
	} {
		b := body{limit: time.Minute, begun: begun, patient: c.patient, written: c.written}
		if got := b.deadline(begun.Add(c.at)).Sub(begun); got != c.end {
			t.Errorf("%s: %v, want %v", c.name, got, c.end)
		}
	}
}

// A handler behind a Guard is not asked for a foreign page.
func TestGuard(t *testing.T) {
	h := Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }), []string{"logs.example"})
	for host, want := range map[string]int{"127.0.0.1:6060": 204, "logs.example": 204, "evil.example": 403} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", host, w.Code, want)
		}
	}
}
