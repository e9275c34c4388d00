package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

var update = flag.Bool("update", false, "write the golden files")

var writers = map[string]func(io.Writer, *run.Run) error{
	"text":    func(w io.Writer, r *run.Run) error { return Text(w, r, TextOptions{Width: 100}) },
	"details": func(w io.Writer, r *run.Run) error { return Text(w, r, TextOptions{Width: 100, Details: true}) },
	"color": func(w io.Writer, r *run.Run) error {
		first := *r
		first.Results = r.Results[:min(1, len(r.Results))]
		return Text(w, &first, TextOptions{Width: 160, Color: true})
	},
	"markdown": Markdown,
	"gobench":  GoBench,
	"html":     HTML,
}

func TestGolden(t *testing.T) {
	files := map[string]string{"text": "sample.txt", "details": "details.txt", "color": "color.txt", "markdown": "sample.md", "gobench": "sample.bench", "html": "sample.html"}
	for kind, file := range files {
		t.Run(kind, func(t *testing.T) {
			var got bytes.Buffer
			r := runtest.Sample()
			if kind == "html" || kind == "gobench" { // long: two results say it all
				r.Results = r.Results[1:3]
			}
			if err := writers[kind](&got, r); err != nil {
				t.Fatal(err)
			}
			golden(t, file, got.Bytes())
		})
	}
}

// golden compares a report with a golden file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s at %s; look at the change, then go test -run Golden -update", path, firstDifference(string(got), string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "line " + count(float64(i+1)) + ":\n got " + g[i] + "\nwant " + w[i]
		}
	}
	return "the end: one is longer"
}
