package lokiclient

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// What fails on the server during an export, such as a replay that has begun, may succeed
// later.
func TestErrorWithinAnExportIsTemporary(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"error":"the log is still being replayed","lines":0}` + "\n"))
	}))
	defer server.Close()
	c, err := New(Options{Addr: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Export(t.Context(), Export{Query: "{}"}) {
		if !Temporary(err) {
			t.Errorf("%v is not temporary", err)
		}
		return
	}
	t.Error("the export has ended without an error")
}
