package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/cmd/stele/internal/settings"
)

var updateDocs = flag.Bool("update-docs", false, "rewrite the table of settings in docs/server.md")

// page reads a page of the repository.
func page(t *testing.T, name string) (path, text string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip("needs the repository: ", err)
	}
	return path, string(data)
}

// The table of settings in docs/server.md is that of the program.
func TestSettingsPage(t *testing.T) {
	path, text := page(t, "docs/server.md")
	const head = "| setting | default | |\n|---|---|---|\n"
	before, rest, ok := strings.Cut(text, head)
	if !ok {
		t.Fatal("docs/server.md has no table of settings")
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	var table strings.Builder
	for _, s := range settings.All() {
		def := s.Default
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", s.Name, def, strings.ReplaceAll(s.Help, "|", "\\|"))
	}
	want := before + head + table.String() + "\n" + after
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if text != want {
		t.Error("the table of settings in docs/server.md is not that of the program; -update-docs rewrites it")
	}
}

// The three lines of the README that serve, push and ask do what they say.
func TestReadmeServes(t *testing.T) {
	_, text := page(t, "README.md")
	var calls [][]string
	for line := range strings.Lines(text) {
		call, _, _ := strings.Cut(strings.TrimSpace(line), "   #")
		for _, verb := range []string{"serve", "push", "query"} {
			if args, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(call), " &"), "stele "+verb+" "); ok && strings.HasPrefix(line, "    stele ") {
				calls = append(calls, append([]string{verb}, words(args)...))
			}
		}
	}
	if len(calls) != 3 || calls[0][0] != "serve" || calls[1][0] != "push" || calls[2][0] != "query" {
		t.Fatalf("README.md has the calls %q; want serve, push and query", calls)
	}
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if err := os.WriteFile("app.log", []byte("a timeout\nall is well\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	t.Setenv("STELE_ADDR", "http://"+listen)
	start(t, append(calls[0], "--listen", listen)...)
	until(t, "the server is ready", func() bool { return isServed("http://" + listen + "/ready") })
	if code, _, diag := stele(t, calls[1]...); code != exitOK || !strings.Contains(diag, "2 lines") {
		t.Errorf("stele %q: exit code %d: %s", calls[1], code, diag)
	}
	if code, out, diag := stele(t, calls[2]...); code != exitOK || !strings.Contains(out, "a timeout\n") || strings.Contains(out, "well") {
		t.Errorf("stele %q: exit code %d: %s%s", calls[2], code, out, diag)
	}
}
