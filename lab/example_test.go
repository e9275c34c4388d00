package lab_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"log"
	"os"
	"time"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

var page = make([]byte, 4096)

func init() { lab.ProgramForTest("mine", Example) }

// Which of two functions of yours is faster? In a program of your own this is
// main.
func Example() {
	checksum := lab.Experiment{
		Suite: "mine", Name: "checksum", Stateless: true,
		Variants: []lab.Variant{
			lab.Func("sha256", run.WritesNothing(), func() error { sha256.Sum256(page); return nil }),
			lab.Func("crc32", run.WritesNothing(), func() error { crc32.ChecksumIEEE(page); return nil }),
		},
	}
	if lab.IsBlock() { // each block is this program, started again
		os.Exit(lab.RunBlock([]lab.Experiment{checksum}))
	}
	measured, err := lab.Measure(context.Background(), lab.Options{BlockTime: 10 * time.Millisecond}, checksum)
	if err != nil {
		log.Fatal(err)
	}
	c := measured.Results[0].Comparisons[0]
	fmt.Println(c.Variant, "is", c.Verdict, "than", c.Baseline)
	// Output: crc32 is faster than sha256
}
