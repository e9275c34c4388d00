package cli

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/header/notice"
)

// recorded skips where the package header can record nothing of a file.
func recorded(t *testing.T) {
	t.Helper()
	plant(t, map[string]string{"probe": "x"})
	stele(t, "header", "insert", "--raw", "--text", "x", "probe")
	if code, _, diag := stele(t, "header", "remove", "--raw", "probe"); code != exitOK {
		t.Skip("no headers can be recorded here:", diag)
	}
	if err := os.Remove("probe"); err != nil {
		t.Fatal(err)
	}
}

func TestHeaderRaw(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t)
	plant(t, map[string]string{"a": "content", "b": "content", "h": "\x00bytes {{"})
	content := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	step := func(want string, args ...string) (out string) {
		t.Helper()
		code, out, diag := stele(t, append([]string{"header"}, args...)...)
		if code != exitOK || content("a") != want {
			t.Errorf("%v: exit code %d, and %q, want %q: %s", args, code, content("a"), want, diag)
		}
		return out
	}
	if out := step("\x00bytes {{content", "insert", "--raw", "--file", "h", "a"); !strings.Contains(out, "survives a power cut, a crash meanwhile leaves old-or-new") {
		t.Errorf("says %s", out)
	}
	step("one\ntwo\ncontent", "replace", "--raw", "--text", "one", "--text", "two", "a")
	step("content", "remove", "--raw", "a")
	room := strings.Repeat(" ", 1024)
	if out := step("v1\n"+room[3:]+"content", "insert", "--raw", "--text", "v1", "--mode", "inplace", "--reserve", "1K", "--pad", "space", "a"); !strings.Contains(out, "by slot") {
		t.Errorf("says %s", out)
	}
	out := step("v22\n"+room[4:]+"content", "replace", "--raw", "--text", "v22", "--mode", "inplace", "--pad", "space", "--level", "kill", "--json", "-", "a")
	var r headerReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Files) != 1 || r.Files[0].State != notice.Replaced ||
		r.Files[0].Result == nil || r.Files[0].Result.Strategy != "slot" || r.Files[0].Result.Header != 4 {
		t.Errorf("%s: %v", out, err)
	}
	if code, out, diag := stele(t, "header", "remove", "--raw", "b", "a", "nowhere"); code != exitFailed || !strings.Contains(diag, "b: no header") || !strings.Contains(diag, "nowhere") || !strings.Contains(out, "a: removed") {
		t.Errorf("exit code %d: %s%s", code, out, diag)
	}
	if code, out, diag := stele(t, "header", "recover", "a", "nowhere"); code != exitFailed || !strings.Contains(out, "a: nothing was interrupted") || !strings.Contains(diag, "nowhere") {
		t.Errorf("recover: exit code %d: %s%s", code, out, diag)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var diag strings.Builder
	if code := execute(ctx, []string{"header", "insert", "--raw", "--text", "x", "b"}, nil, &diag, &diag); code != exitInterrupted || content("b") != "content" {
		t.Errorf("interrupted: exit code %d: %s", code, diag.String())
	}
}
