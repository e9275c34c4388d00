package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
)

const storeEnv = "STELE_LAB_TEST_STORE"

// The helper leaves the files of a scratch directory to a process in the background.
var _ = addHelper("leave files", func() {
	d, err := scratch.Dir(os.Getenv(storeEnv))
	if err == nil {
		err = os.WriteFile(filepath.Join(d.Path, "left"), nil, 0o666)
	}
	os.Unsetenv(helperEnv) // the process in the background is no helper
	p := openPlace{dir: d.Path, close: func() error { select {} }}
	if err = errors.Join(err, p.closeSoon(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, err := os.Stat(filepath.Join(d.Path, "left")); err != nil {
		fmt.Fprintln(os.Stderr, "the files of a living process:", err)
		os.Exit(1)
	}
	fmt.Println(d.Path)
})

// What cannot be removed in a moment is removed by a process in the background, once its
// maker has ended.
func TestFilesAreRemovedInTheBackground(t *testing.T) {
	store := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"=leave files", storeEnv+"="+store)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	root := filepath.Dir(strings.TrimSpace(string(out)))
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("nothing was removed in two minutes")
		}
	}
	if left, err := os.ReadDir(store); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestSoonIsAtOnceWhereItCanBe(t *testing.T) {
	failed := errors.New("busy")
	p := openPlace{dir: "/nowhere/work", close: func() error { return failed }}
	if err := p.closeSoon(time.Minute); err != failed {
		t.Errorf("the error of a removal is %v, want %v", err, failed)
	}
}
