package sys

import (
	"os"
	"testing"
)

// A zero handle uses neither descriptor 0 nor, for a relative name, the working
// directory.
func TestZeroHandles(t *testing.T) {
	t.Chdir(t.TempDir())
	var d Dir
	calls := map[string]error{
		"Mkdir":      d.Mkdir("a", 0o777),
		"TouchFile":  d.TouchFile("b", 0o666),
		"Rmdir":      d.Rmdir("a"),
		"Remove":     d.Remove("b"),
		"Rename":     d.Rename("a", "b"),
		"Sync":       d.Sync(),
		"Temp.Sync":  Temp{}.Sync(),
		"Temp.Close": Temp{}.Close(),
	}
	_, calls["Open"] = d.Open("c", ForPath)
	_, calls["OpenBeneath"] = d.OpenBeneath("c", ForPath, false)
	_, calls["Stat"] = d.Stat("c")
	_, calls["Lstat"] = d.Lstat("c")
	_, calls["CreateFile"] = d.CreateFile("c", "c", 0o666, CreateNew)
	_, calls["CreateTemp"] = d.CreateTemp("c", 0o666)
	_, calls["Temp.Write"] = Temp{}.Write([]byte("x"))
	for name, err := range calls {
		if err == nil {
			t.Errorf("%s of a zero handle succeeds", name)
		}
	}
	d.Close()
	Temp{}.Close()
	if _, err := os.Stdin.Stat(); err != nil {
		t.Errorf("standard input: %v", err)
	}
	if es, err := os.ReadDir("."); err != nil || len(es) != 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}
