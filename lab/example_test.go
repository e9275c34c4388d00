package lab_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
)

var (
	page     = make([]byte, 4096)
	inMemory = durability.Promise{Level: durability.None}
)

// checksum is the question: which checksum of a page is faster?
var checksum = lab.Experiment{
	Suite: "mine", Name: "checksum", Op: "one page", Stateless: true,
	Question: "Which checksum of a page is faster?",
	Variants: []lab.Variant{
		{Name: "sha256", Promise: inMemory, Run: func(b *lab.B) error {
			for b.Loop() {
				sha256.Sum256(page)
			}
			return nil
		}},
		{Name: "crc32", Promise: inMemory, Run: func(b *lab.B) error {
			for b.Loop() {
				crc32.ChecksumIEEE(page)
			}
			return nil
		}},
	},
}

func init() { lab.RegisterForTest(checksum) }

// A function of your own, measured. In a program of yours this is main; the
// whole of it, with the experiment above, is what a measurement takes.
func Example() {
	if lab.IsBlock() { // each block is this program, started again
		os.Exit(lab.RunBlock([]lab.Experiment{checksum}))
	}
	options := lab.Options{Rounds: 10, BlockTime: 5 * time.Millisecond} // the zero value takes longer and knows more
	run, err := lab.Measure(context.Background(), options, checksum)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := run.Results[0].Comparisons[0]
	fmt.Println(c.Variant, "is", c.Verdict, "than", c.Baseline)
	// Output: crc32 is faster than sha256
}
