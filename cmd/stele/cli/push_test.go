package cli

import (
	"os"
	"strings"
	"testing"
)

// appLog writes app.log, with a line of which the time is not in it.
func appLog(t *testing.T) {
	t.Helper()
	text := "2025-01-15T08:00:00Z level=info msg=\"first\"\n2025-01-15T08:00:01Z level=error msg=\"second\"\n\tat a stack\n"
	if err := os.WriteFile("app.log", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestPushDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	appLog(t)
	code, out, diag := stele(t, "push", "app.log", "--label", "app=shop", "--label", "filename=x", "--time", "auto", "--dry-run")
	want := `2025-01-15T08:00:00Z {app="shop", filename="x"} 2025-01-15T08:00:00Z level=info msg="first"
2025-01-15T08:00:01Z {app="shop", filename="x"} 2025-01-15T08:00:01Z level=error msg="second"
2025-01-15T08:00:01Z {app="shop", filename="x"} ` + "\tat a stack\n"
	if code != exitOK || out != want || diag != "" {
		t.Errorf("exit code %d\n%s%s", code, out, diag)
	}
}

func TestWrongCallsOfTheServerCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	appLog(t)
	for _, c := range []struct {
		call, want string
		code       int
	}{
		{"push", "FILE...: 0 arguments; want 1 or more", exitUsage},
		{"push app.log --label app", `--label: "app"; want NAME=VALUE`, exitUsage},
		{"push app.log --label 1a=b", `--label: "1a=b"; want NAME=VALUE`, exitUsage},
		{"push -", "--label: none; want one at least", exitUsage},
		{"push app.log --time never", `--time: "never"; want auto, iso`, exitUsage},
		{"push app.log --time-zone Mars", `--time-zone: "Mars"; want a zone`, exitUsage},
		{"push app.log --batch 4MiB", "--batch: 4194304; want 1 to 3145728", exitUsage},
		{"push app.log --from-end", "--from-end: want --follow with it", exitUsage},
		{"push app.log --follow --dry-run", "--dry-run: want it without --follow", exitUsage},
		{"push app.log --addr nowhere", `--addr: "nowhere"; want a URL such as http://127.0.0.1:3100`, exitUsage},
		{"push app.log --addr http://127.0.0.1:1", "connection refused", exitFailed},
		{"push none.log --dry-run", "none.log: no such file", exitFailed},
		{"push none*.log --dry-run", "none*.log: no file has such a name", exitFailed},
		{"query", "QUERY: 0 arguments; want 1", exitUsage},
		{"query {} --from x", `--from: "x"; want a moment such as`, exitUsage},
		{"query {} --since soon", `--since: "soon"; want a time such as 30m`, exitUsage},
		{"query {} --from now --to 1h", "want a moment before --to", exitUsage},
		{"query {} -o xml", `--output: "xml"; want text, raw, json or csv`, exitUsage},
		{"query {} --limit 0", "--limit: 0; want 1 or more", exitUsage},
		{"query {} --color blue", `--color: "blue"; want auto, always or never`, exitUsage},
		{"query {} --data none", "no such file", exitFailed},
		{"query {} --data . --addr http://localhost", "--data: want it without --addr", exitFailed},
		{"tail", "QUERY: 0 arguments; want 1", exitUsage},
		{"labels a b", "NAME: 2 arguments; want 0 or 1", exitUsage},
		{"series", "SELECTOR...: 0 arguments; want 1 or more", exitUsage},
		{"export {} --resume", "--resume: true; want a --file with it", exitUsage},
		{"query {} --since 1h --from 0", `--since: "1h"; want one of --since and --from`, exitUsage},
		{"query {} --instant --step 1m", `--step: "1m"; want no --step with --instant`, exitUsage},
		{"query {} --timeout -1s", `--timeout: -1s; want 0 (no limit) or more`, exitUsage},
		{"query {} --addr http://127.0.0.1:1", "'stele serve --data DIR' starts one; --addr says which server to ask, and --data DIR reads a store without one", exitFailed},
		{"tail {} --addr http://127.0.0.1:1", "'stele serve --data DIR' starts one; --addr says which server to ask\n", exitFailed},
		{"tail {} --delay 1500ms", "--delay: 1.5s; want whole seconds from 0s to 5s", exitUsage},
		{"export {} --compress lzw", `--compress: "lzw"; want gzip, zstd or none`, exitUsage},
		{"serve", `--data: ""; want the directory of a store`, exitUsage},
		{"serve --data d --listen 3100", `--listen: "3100"; want an address such as 127.0.0.1:3100`, exitUsage},
		{"serve --data d --retention ever", `--retention: "ever"; want a time such as`, exitUsage},
		{"serve --data d --config none.yaml", "--config: open none.yaml: no such file", exitUsage},
		{"serve d", "stele serve: 1 argument; want 0", exitUsage},
	} {
		code, _, diag := stele(t, strings.Fields(c.call)...)
		if code != c.code || !strings.Contains(diag, c.want) {
			t.Errorf("stele %s: exit code %d, want %d; standard error %q, want %q in it", c.call, code, c.code, diag, c.want)
		}
	}
}
