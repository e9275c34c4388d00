package tracetest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestMain(m *testing.M) {
	if name, root := Scenario(); name != "" {
		os.Mkdir(filepath.Join(root, "before"), 0o755)
		Begin()
		os.Mkdir(filepath.Join(root, "again"), 0o755)
		Begin()
		err := os.Mkdir(filepath.Join(root, name), 0o755)
		os.Remove(filepath.Join(root, "nothing"))
		End()
		os.Mkdir(filepath.Join(root, "after"), 0o755)
		if err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const calls = "mkdirat,mkdir,unlinkat,unlink,rmdir"

// The calls between the last Begin and the End are recorded.
func TestTrace(t *testing.T) {
	Need(t, calls)
	root := t.TempDir()
	tr := Run{Scenario: "made", Root: root, Calls: calls}.Do(t)
	if tr.Exit != 0 {
		t.Fatal(tr.Said)
	}
	if got, want := tr.Count(), map[string]int{"mkdirat": 1, "unlinkat": 2}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v\n%s", got, want, tr.Raw)
	}
	if c := tr.Calls()[0]; c.Name != "mkdirat" || c.Nth != 3 {
		t.Errorf("%+v, want the third mkdirat of the process", c)
	}
	Golden(t, "made", tr.Normal(root, Rule{Find: regexp.MustCompile("nothing"), By: "$1"}), false)
}

func TestInject(t *testing.T) {
	Need(t, calls)
	tr := Run{Scenario: "made", Root: t.TempDir(), Calls: calls, Inject: []string{"mkdirat:error=ENOSPC:when=3"}}.Do(t)
	if tr.Exit != 3 || tr.Said == "" {
		t.Errorf("exit %d, %q; want the error that was injected", tr.Exit, tr.Said)
	}
}
