package server

import (
	"os"
	"strings"
	"testing"
)

// docs/loki-api.md shows all labels that Loki makes a service_name of.
func TestDocsHaveServiceNames(t *testing.T) {
	text, err := os.ReadFile("../docs/loki-api.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "discover_service_name: [" + strings.Join(ServiceNameLabels(), ", ") + "]\n"; !strings.Contains(string(text), want) {
		t.Errorf("docs/loki-api.md has no %s", want)
	}
}

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
