package server

import (
	"os"
	"strings"
	"testing"
)

// docs/loki-api.md has a row for each endpoint.
func TestDocsHaveEachEndpoint(t *testing.T) {
	text, err := os.ReadFile("../docs/loki-api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		if !strings.Contains(string(text), "`"+r.path+"`") {
			t.Errorf("docs/loki-api.md has no %s", r.path)
		}
	}
}
