package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

func TestSnapshot(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	code, out, diag := stele(t, "snapshot", "store", "copy")
	if code != exitOK || diag != "" || !strings.HasPrefix(out, "store: copy has all up to position ") || !strings.Contains(out, " linked, 0 bytes copied") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	code, out, diag = stele(t, "snapshot", "copy", "again", "--memory", "64M", "--json", "-")
	var doc snapshotDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || diag != "" {
		t.Fatalf("exit code %d: %v in %s%s", code, err, out, diag)
	}
	if doc.Schema != snapshotSchema || doc.Dir != "copy" || doc.To != "again" || doc.Segments == 0 || doc.Linked != doc.Segments || doc.Position == 0 {
		t.Errorf("%+v", doc)
	}
	if code, out, diag := stele(t, "inspect", "again"); code != exitOK || !strings.Contains(out, " 6 entries, ") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}

func TestSnapshotRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	aTornStore(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"store"}, exitUsage, "DIR DST: 1 argument; want 2"},
		{[]string{"store", "copy", "--memory", "much"}, exitUsage, "--memory"},
		{[]string{"store", "store"}, exitFailed, "entries may be missing"},
		{[]string{"none", "copy"}, exitFailed, "no such file or directory"},
	} {
		code, out, diag := stele(t, append([]string{"snapshot"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(diag, c.want) {
			t.Errorf("%v: exit code %d: %s%s", c.args, code, out, diag)
		}
	}
	s, err := logstore.Open("open", logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if code, _, diag := stele(t, "snapshot", "open", "copy"); code != exitFailed || !strings.Contains(diag, "in use") {
		t.Errorf("exit code %d: %s", code, diag)
	}
}
