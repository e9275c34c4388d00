package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

func TestRecode(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	code, out, diag := stele(t, "recode", "store", "--codec", "lines")
	if code != exitOK || diag != "" || !strings.HasPrefix(out, "store: 0 bytes of lines are recoded as lines: segments of ") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	code, out, diag = stele(t, "recode", "store", "--codec", "lines", "--memory", "64M", "--rate", "1M", "--json", "-")
	var doc recodeDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || diag != "" {
		t.Fatalf("exit code %d: %v in %s%s", code, err, out, diag)
	}
	if doc.Schema != recodeSchema || doc.Dir != "store" || doc.Codec != logstore.CodecLines || doc.Lines != 0 || doc.Before == 0 || doc.Before != doc.After {
		t.Errorf("%+v", doc)
	}
}

func TestRecodeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "DIR: 0 arguments; want 1"},
		{[]string{"store", "--codec", "rows"}, exitUsage, "columns or lines"},
		{[]string{"store", "--rate", "fast"}, exitUsage, "--rate"},
		{[]string{"none"}, exitFailed, "no such file or directory"},
	} {
		code, out, diag := stele(t, append([]string{"recode"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(diag, c.want) {
			t.Errorf("%v: exit code %d: %s%s", c.args, code, out, diag)
		}
	}
}
