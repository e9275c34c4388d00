package logs

import (
	"bytes"
	"testing"
)

// One of every StructuredOneOf structured lines has the status 500.
func TestStructured(t *testing.T) {
	for _, json := range []bool{true, false} {
		s := NewStructured(1, json)
		failed := 0
		var l Line
		for range 3 * StructuredOneOf {
			s.Next(&l)
			want := " status=500 "
			if json {
				want = `,"status":500,`
			}
			if bytes.Contains(l.Line, []byte(want)) {
				failed++
			}
		}
		if failed != 3 || l.Stream >= len(s.Labels()) {
			t.Errorf("JSON %v: %d lines of %d have the status 500", json, failed, 3*StructuredOneOf)
		}
	}
}
