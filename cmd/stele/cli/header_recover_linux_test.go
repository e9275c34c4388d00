package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// abandon leaves a temporary file of a dead process in each directory.
func abandon(t *testing.T, dirs ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), leaveEnv+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// recover removes temporary files in every directory that the walk enters, even if
// no file in it is selected, and behind a link that is a PATH; nowhere else.
func TestHeaderRecoverDirectories(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // directories that are swept
	}{
		{".", ". empty far other src src/deep"},
		{"--include *.go .", ". empty far other src src/deep"},
		{"--exclude src .", ". empty far other"},
		{"--include *.go src", "src src/deep"},
		{"dirlink", "src/deep"},
		{"src/**/*.go", "src src/deep"},
		{"src/a.go", "src"},
		{"--include *.go src/text", ""},
		{"link", ". far"},
		{"--git .", ". src"},
		{"--git --include *.c .", ". src"},
	} {
		t.Run(strings.ReplaceAll(c.args, "/", "|"), func(t *testing.T) {
			t.Chdir(t.TempDir())
			plant(t, map[string]string{"a.go": "", "src/a.go": "", "src/text": "", "src/deep/b.go": "", "far/file": "", "other/file": "", "vendor/v.go": "", "empty/x": ""})
			if err := os.Remove("empty/x"); err != nil {
				t.Fatal(err)
			}
			for link, to := range map[string]string{"link": "far/again", "far/again": "file", "dirlink": "src/deep"} {
				if err := os.Symlink(to, link); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(c.args, "--git") {
				git, err := exec.LookPath("git")
				if err != nil {
					t.Skip("needs git: ", err)
				}
				for _, args := range [][]string{{"init", "-q"}, {"add", "a.go", "src/a.go"}} {
					if out, err := exec.Command(git, args...).CombinedOutput(); err != nil {
						t.Fatalf("git %v: %v: %s", args, err, out)
					}
				}
			}
			all := []string{".", "empty", "far", "other", "src", "src/deep", "vendor"}
			abandon(t, all...)
			code, out, diag := stele(t, append([]string{"header", "recover"}, strings.Fields(c.args)...)...)
			var swept []string
			for _, dir := range all {
				if left, _ := filepath.Glob(filepath.Join(dir, ".stele-*")); len(left) == 0 {
					swept = append(swept, dir)
				}
			}
			slices.Sort(swept)
			if code != exitOK || strings.Join(swept, " ") != c.want || !strings.Contains(out, fmt.Sprintf("%d temporary files removed", len(swept))) {
				t.Errorf("exit code %d, swept %q, want %q\n%s%s", code, swept, c.want, out, diag)
			}
		})
	}
}
