package logstore_test

import (
	"testing"

	"github.com/stele-go/stele/logstore"
)

// A template made for a test is that of a segment: literals with slots between them.
func TestNewLineTemplate(t *testing.T) {
	tmpl := logstore.NewLineTemplate([]byte("request "), []byte(" took "), []byte(" ms"))
	plan, ok := tookIn(tmpl)
	if !ok || tmpl.Slots() != 2 || string(tmpl.Literal(2)) != " ms" {
		t.Fatalf("%d slots, the last literal is %q: %v", tmpl.Slots(), tmpl.Literal(2), ok)
	}
	if got := plan.Fields[0].Pieces; len(got) != 1 || got[0].Slot != 1 || !plan.Rules[0].Forbidden.Has(' ') {
		t.Errorf("%+v", plan)
	}
}
