package pipeline

import (
	"runtime"
	"testing"
)

// Runs share what a large expression is compiled to.
func TestRunsShareExpressions(t *testing.T) {
	p, _, err := compileText(`| regexp "(?P<x>([a-z]b|[0-9]d){999})"`, Options{AllLabels: true, Grow: func(int64) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		p.NewRun()
	}
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) / 20; made > 64<<10 {
		t.Errorf("a Run takes %d bytes; want at most 64 KiB", made)
	}
}
