package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

type exported struct {
	Time, Line, Line64, Cursor, Error string
	Labels, Metadata                  map[string]string
	End                               bool
	Lines                             int
}

func export(t testing.TB, s *Server, namesAndValues ...string) (lines []exported, last exported) {
	t.Helper()
	w := get(s, "GET", "/stele/api/v1/export?"+values(append(namesAndValues, data...)...))
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	for text := range strings.Lines(w.Body.String()) {
		var e exported
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		lines = append(lines, e)
	}
	return lines[:len(lines)-1], lines[len(lines)-1]
}

// An export goes on behind any of its lines, with none twice and none lost.
func TestExport(t *testing.T) {
	s := newDataServer(t, Options{})
	for _, direction := range []string{"forward", "backward"} {
		all, last := export(t, s, "query", `{env=~".+"}`, "direction", direction)
		if len(all) != 102 || !last.End || last.Lines != 102 {
			t.Fatalf("%s: %d lines, then %+v", direction, len(all), last)
		}
		var parts []exported
		after := ""
		for n := 7; ; n++ {
			part, _ := export(t, s, "query", `{env=~".+"}`, "direction", direction, "limit", fmt.Sprint(n), "after", after)
			if len(part) == 0 {
				break
			}
			parts = append(parts, part...)
			after = part[len(part)-1].Cursor
		}
		if fmt.Sprint(parts) != fmt.Sprint(all) {
			t.Errorf("%s: %d lines in parts; want %d", direction, len(parts), len(all))
		}
	}
}

func TestExportedLines(t *testing.T) {
	s := newDataServer(t, Options{})
	lines, _ := export(t, s, "query", `{app="api"} | json`, "limit", "1")
	if l := lines[0]; l.Time != "1700000000000000000" || l.Labels["status"] != "200" || l.Labels["app"] != "api" || l.Metadata["trace_id"] != "t0" || l.Labels["trace_id"] != "" {
		t.Errorf("%+v", l)
	}
	lines, _ = export(t, s, "query", `{app="txt"}`)
	if text, err := base64.StdEncoding.DecodeString(lines[1].Line64); err != nil || string(text) != "not UTF-8: \xff" || lines[0].Line == "" {
		t.Errorf("%+v %v", lines, err)
	}
}

func TestExportTellsErrors(t *testing.T) {
	s := newDataServer(t, Options{})
	newHeldEngine(s)
	lines, last := export(t, s, "query", `{app="api"}`)
	if len(lines) != 1 || last.Error != "the disk is gone" || last.End {
		t.Errorf("%v, then %+v", lines, last)
	}
}

func TestSources(t *testing.T) {
	s := newServer(t, Options{})
	for i := range 3 {
		_, err := s.store.AppendWith(t.Context(), logstore.Batch{{Labels: logstore.MustLabels("a", "b"), Entries: []logstore.Entry{{Time: second(i), Line: []byte("x")}}}},
			logstore.AppendOptions{Source: fmt.Sprint("file ", i), Offset: uint64(1) << 60})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ method, target, want string }{
		{"GET", "source?name=file+1", `{"source":"file 1","known":true,"offset":"1152921504606846976"}`},
		{"GET", "source?name=none", `{"source":"none","known":false}`},
		{"GET", "sources?limit=2", `{"sources":[{"source":"file 0","offset":"1152921504606846976"},{"source":"file 1","offset":"1152921504606846976"}],"more":true}`},
		{"GET", "sources?from=file+2", `{"sources":[{"source":"file 2","offset":"1152921504606846976"}],"more":false}`},
		{"DELETE", "source?name=file+1", ``},
		{"GET", "source?name=file+1", `{"source":"file 1","known":false}`},
		{"GET", "source", "parameter name: \"\"; want the name of a source, at most 256 bytes\n"},
	} {
		if w := get(s, c.method, "/stele/api/v1/"+c.target); w.Body.String() != c.want {
			t.Errorf("%s %s: %d %s; want %s", c.method, c.target, w.Code, w.Body, c.want)
		}
	}
}
