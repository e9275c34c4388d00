package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Two measurements on one machine notice each other, whichever began first.
func TestMeasurementsNoticeEachOther(t *testing.T) {
	t.Chdir(t.TempDir())
	other := hangOut()
	if other.l == nil {
		t.Skip("no abstract socket can be bound here")
	}
	code, out, diag := stele(t, quickly("--html", "run.html")...)
	want := fmt.Sprintf("process %d measures on this machine too", os.Getpid()) // the sign is this process's
	if code != exitOK || strings.Count(diag, want) != 1 || !strings.Contains(out, "Measurements by other processes") {
		t.Errorf("exit code %d\n%s\n%s\nwant %q once, and a warning in the text", code, diag, out, want)
	}
	var late strings.Builder
	first := watchBeside(&meter{w: &late}, "stele bench")
	defer first.end(nil)
	had := late.Len()
	second := hangOut()
	defer second.close()
	if first.look(); late.Len() == had {
		t.Error("a measurement that begins later is not noticed")
	}
	other.close()
	for _, name := range second.others() {
		if name == other.name {
			t.Errorf("%s is still seen after it ended", name)
		}
	}
}
