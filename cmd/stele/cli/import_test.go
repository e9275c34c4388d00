package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

func TestImport(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	code, out, diag := stele(t, "import", "store", "other")
	if code != exitOK || diag != "" || out != "store: 6 entries imported into other\n" {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	code, out, diag = stele(t, "import", "store", "other", "--memory", "64M", "--json", "-")
	var doc importDoc
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK || diag != "" {
		t.Fatalf("exit code %d: %v in %s%s", code, err, out, diag)
	}
	if doc.Schema != importSchema || doc.To != "other" || len(doc.Sources) != 1 || doc.Sources[0].Known != 6 || doc.Sources[0].Kept != 0 {
		t.Errorf("%+v", doc)
	}
	if code, out, diag := stele(t, "inspect", "other"); code != exitOK || !strings.Contains(out, " 6 entries, ") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}

	p, err := os.ReadFile(sealedFile)
	if err != nil {
		t.Fatal(err)
	}
	p[blockMiddle(t, sealedFile)] ^= 1
	if err := os.WriteFile("lone.seg", p, 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, diag = stele(t, "import", "lone.seg", "third")
	if code != exitFailed || !strings.Contains(out, "lone.seg: 0 entries imported into third, ") || !strings.Contains(diag, "lone.seg is damaged at offset ") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
}

// blockMiddle returns an offset in the first block of a segment.
func blockMiddle(t *testing.T, file string) int64 {
	t.Helper()
	s, err := logstore.InspectSegment(file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for b, err := range s.EachBlock() {
		if err != nil {
			t.Fatal(err)
		}
		return b.Offset + b.Bytes/2
	}
	t.Fatal("no block")
	return 0
}

func TestImportRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	aStore(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"store"}, exitUsage, "SRC... DST: 1 argument; want 2 or more"},
		{[]string{"store", "other", "--memory", "much"}, exitUsage, "--memory"},
		{[]string{"store", "store"}, exitFailed, "store is the store itself"},
		{[]string{"none", "store"}, exitFailed, "no such file or directory"},
	} {
		code, out, diag := stele(t, append([]string{"import"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(diag, c.want) {
			t.Errorf("%v: exit code %d: %s%s", c.args, code, out, diag)
		}
	}
}
