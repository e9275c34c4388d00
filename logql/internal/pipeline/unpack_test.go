package pipeline

import (
	"fmt"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// What Loki made of these lines, but for the first: its label without a name cannot be written.
func TestUnpack(t *testing.T) {
	for _, c := range []struct{ stages, line, text, want string }{
		{`| unpack`, `{"_entry":"e","":"x"," ":"y","a":"1"}`, "e", "map[a:1 w:s]"},
		{`| unpack`, `{"_entry":"x","a":"1"} timeout`, "x", "map[a:1 w:s]"},
		{`| unpack`, `{"_entry":"x","a":"1","a":"2","w":"y"}`, "x", "map[a:2 w:s w_extracted:y]"},
		{`| json a="a" | unpack`, `{"_entry":"x","a":"1","a":"2"}`, "x", "map[a:1 w:s]"},
		{`| json | drop a | unpack`, `{"_entry":"x","a":"1","b":"2"}`, "x", "map[_entry:x b:2 w:s]"},
	} {
		p, _, err := compileText(c.stages, Options{AllLabels: true})
		if err != nil {
			t.Fatal(err)
		}
		r := p.NewRun()
		if !r.Stream(logstore.MustLabels("w", "s")) || !r.Process(1, []byte(c.line), logstore.Labels{}) {
			t.Fatalf("%s: %s does not pass", c.stages, c.line)
		}
		if got := fmt.Sprint(result(r)); got != c.want || string(r.Line) != c.text {
			t.Errorf("%s: %s: %s %q; want %s %q", c.stages, c.line, got, r.Line, c.want, c.text)
		}
	}
}
