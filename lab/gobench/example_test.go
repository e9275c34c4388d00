package gobench_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/gobench"
	"github.com/stele-go/stele/lab/run"
)

// Two benchmarks as they are in any test file.

func BenchmarkPlus(b *testing.B) {
	for b.Loop() {
		s := ""
		for range 500 {
			s += "x"
		}
	}
}

func BenchmarkBuilder(b *testing.B) {
	for i := 0; i < b.N; i++ {
		var s strings.Builder
		for range 500 {
			s.WriteByte('x')
		}
	}
}

func joining() lab.Experiment {
	return lab.Experiment{
		Suite: "mine", Name: "join", Stateless: true,
		Variants: []lab.Variant{
			gobench.Variant("plus", run.WritesNothing(), BenchmarkPlus),
			gobench.Variant("strings.Builder", run.WritesNothing(), BenchmarkBuilder),
		},
	}
}

// Each block is this program, started again.
func TestMain(m *testing.M) {
	if lab.IsBlock() {
		os.Exit(lab.RunBlock(append(testExperiments(), joining())))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// The benchmarks of a package, measured in interleaved blocks. In a test file of your
// own this is a test.
func Example() {
	measured, err := lab.Measure(context.Background(), lab.Options{BlockTime: 1e7, Rounds: 8}, joining())
	if err != nil {
		log.Fatal(err)
	}
	c := measured.Results[0].Comparisons[0]
	fmt.Println(c.Variant, "is", c.Verdict, "than", c.Baseline)
	// Output: strings.Builder is faster than plus
}
