package lab

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// A child does its operations in a process of its own, and reports them.
func TestChildRunsAVariant(t *testing.T) {
	e := testExperiment(t, "spin")
	cmd, err := Child(t.Context(), &e, "once", t.TempDir(), 5, 7)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var b run.Block
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatal(err)
	}
	if b.Error != "" || b.Ops != 5 || b.Latency.Count() != 5 || b.Wall < run.Nanos(100*time.Microsecond) {
		t.Errorf("5 spins of 20 us came back as %+v", b)
	}
	if cmd.ProcessState.Pid() == 0 || !cmd.ProcessState.Exited() {
		t.Errorf("the child has not ended: %v", cmd.ProcessState)
	}
}
