package lab

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// The test binary starts itself again as two kinds of process: the block of
// a run (IsBlock), and a helper of a test.

// helperEnv names the helper that the process is to run, and nothing else.
const helperEnv = "STELE_LAB_TEST_HELPER"

// testHelpers are the helpers, by name. Files of tests add theirs in a
// package-level declaration: var _ = addHelper("name", func() { ... }).
var testHelpers = map[string]func(){}

func addHelper(name string, f func()) bool {
	testHelpers[name] = f
	return true
}

func TestMain(m *testing.M) {
	if IsBlock() {
		runTestBlock()
	}
	if name := os.Getenv(helperEnv); name != "" {
		helper, found := testHelpers[name]
		if !found {
			fmt.Fprintf(os.Stderr, "no test helper is named %q\n", name)
			os.Exit(2)
		}
		helper()
		os.Exit(0)
	}
	// Under the race detector a process waits for a second before it ends,
	// unless told not to; the tests start hundreds.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	// Each block is followed by a syncfs, which on a busy disk waits for the
	// writes of everybody else.
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", "/dev/shm")
	}
	os.Exit(m.Run())
}

// runTestBlock runs the block that this process was started for, and ends it.
func runTestBlock() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	w.Write(input) // less than a pipe holds
	w.Close()
	os.Stdin = r
	for suite, main := range programs {
		if bytes.Contains(input, []byte(`"experiment":"`+suite+`/`)) {
			main()
		}
	}
	os.Exit(RunBlock(testExperiments()))
}

// reread measures a test experiment, and analyses the run as it is read from a file.
func reread(t *testing.T, o Options, experiment string) *run.Result {
	t.Helper()
	got, err := Measure(t.Context(), o, testExperiment(t, experiment))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := got.Write(&file); err != nil {
		t.Fatal(err)
	}
	if got, err = run.Read(&file); err != nil {
		t.Fatal(err)
	}
	got.Analyse()
	return got.Results[0]
}

// oneOfSome makes a measurement five times, or for as long as ten seconds, and fails
// the test unless one finds nothing wrong: other work of the machine spoils some of
// them, short ones all in one moment, and a fault of the program spoils all.
func oneOfSome(t *testing.T, measure func() error) {
	t.Helper()
	for begun, n := time.Now(), 0; n < 5 || time.Since(begun) < 10*time.Second; n++ {
		err := measure()
		if err == nil {
			return
		}
		t.Log(err)
	}
	t.Error("each measurement was wrong")
}
