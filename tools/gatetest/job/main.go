// Command job is the program that gatetest builds: a job that a user of the lab might
// have. Its variant "mine" takes longer by the share that the build was given, in real
// work.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// Set by the build: -ldflags "-X main.slower=0.15 -X main.build=7".
var (
	slower = "0" // the share of work more
	build  = ""  // makes builds of the same source different programs
)

// size is the number of bytes of one operation.
const size = 256 << 10

func main() {
	share, err := strconv.ParseFloat(slower, 64)
	if err != nil || share < 0 {
		fmt.Fprintf(os.Stderr, "job: slower: %q; want a share of 0 or more\n", slower)
		os.Exit(2)
	}
	data := make([]byte, size+int(share*size))
	memory := run.Writes(durability.None, durability.Torn)
	hash := func(n int) func() error {
		return func() error { sha256.Sum256(data[:n]); return nil }
	}
	job := lab.Experiment{
		Suite: "gatetest", Name: "job", Question: "Has the job become slower?", Op: "one hash", Stateless: true,
		Variants: []lab.Variant{
			lab.Func("standard", memory, hash(size)),
			lab.Func("mine", memory, hash(len(data))),
		},
	}
	job.Variants[0].Baseline = true
	if lab.IsBlock() {
		os.Exit(lab.RunBlock([]lab.Experiment{job}))
	}
	os.Exit(measure(job))
}

// measure writes a run to standard output.
func measure(job lab.Experiment) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := lab.Options{NoCalibration: true, NoCounting: true, FixedRounds: true, Command: os.Args}
	flag.StringVar(&o.Against, "against", "", "the other build")
	flag.IntVar(&o.Rounds, "rounds", 20, "timed blocks of each variant")
	flag.DurationVar(&o.BlockTime, "block-time", 100*time.Millisecond, "of a block")
	dir := flag.String("dir", ".", "where to measure")
	flag.Parse()
	o.Places = []lab.PlaceSpec{{Dir: *dir}}
	r, err := lab.Measure(ctx, o, job)
	if err == nil {
		r.Notes = append(r.Notes, run.Note{Code: run.NoteText, Text: "build " + build})
		err = r.Write(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "job:", err)
		return 1
	}
	return 0
}
