package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

func TestReadyNeedsSpace(t *testing.T) {
	store, err := logstore.Open(t.TempDir(), logstore.Options{Level: durability.Kill, MinFree: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	<-store.Ready()
	if !store.Stats().LowSpace {
		t.Skip("the free space is not known here")
	}
	s, err := New(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := get(s, "GET", "/ready"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "min_free") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
