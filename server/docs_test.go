package server

import (
	"os"
	"regexp"
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

// The examples of docs/push-protocol.md answer as it says.
func TestDocsPushProtocol(t *testing.T) {
	text, err := os.ReadFile("../docs/push-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	addr := listen(t, newServer(t, Options{}))
	option := regexp.MustCompile(`-(H|d) '([^']*)'`)
	_, rest, found := strings.Cut(string(text), "    $ curl ")
	for n := 0; found; n++ {
		var example string
		example, rest, _ = strings.Cut(rest, "\n\n")
		lines := strings.Split(example, "\n    ")
		var headers []string
		var body string
		for _, o := range option.FindAllStringSubmatch(lines[0], -1) {
			if name, value, ok := strings.Cut(o[2], ": "); ok && o[1] == "H" {
				headers = append(headers, name, value)
			} else {
				body = o[2]
			}
		}
		res, answer := dial(t, addr).do(t, pushRequest("", "", []byte(body), headers...))
		if want := lines[1]; res.Proto+" "+res.Status != want {
			t.Errorf("example %d: %s %s, want %s", n, res.Status, answer, want)
		}
		for _, line := range lines[2:] {
			if name, want, _ := strings.Cut(line, ": "); res.Header.Get(name) != want {
				t.Errorf("example %d: %s: %q, want %s", n, name, res.Header.Get(name), want)
			}
		}
		if _, rest, found = strings.Cut(rest, "    $ curl "); !found && n < 2 {
			t.Errorf("%d examples", n+1)
		}
	}
}
