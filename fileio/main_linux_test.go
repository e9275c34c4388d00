package fileio_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stele-go/stele/internal/tracetest"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// A scenario runs in a process of its own, under strace, in the directory root. Only the
// calls of the function that it returns are recorded.
type scenario func(root string) (run func() error, err error)

// scenarios by name. Test files add to it when they are initialised.
var scenarios = map[string]scenario{}

// How a traced process ends.
const (
	exitOK = iota
	exitBroken
	exitFailed // with an error on standard output
)

func TestMain(m *testing.M) {
	if name, root := tracetest.Scenario(); name != "" {
		os.Exit(runScenario(name, root))
	}
	os.Exit(m.Run())
}

func runScenario(name, root string) int {
	run, err := scenarios[name](root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitBroken
	}
	tracetest.Begin()
	err = run()
	tracetest.End()
	if err != nil {
		fmt.Println(err)
		return exitFailed
	}
	return exitOK
}

// traced runs a scenario with faults as strace's option inject takes them.
func traced(t *testing.T, name, root, calls string, inject ...string) tracetest.Trace {
	t.Helper()
	return tracetest.Run{Scenario: name, Root: root, Calls: calls, Inject: inject}.Do(t)
}
