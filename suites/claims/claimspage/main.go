// Command claimspage measures the published claims that have no raw run yet, on fresh
// images of four file systems, and writes the page of verdicts, suites/claims/README.md,
// from the raw runs. It goes claim by claim: after an interruption it continues where it
// was. It needs Linux and root.
//
//	sudo go run ./suites/claims/claimspage                 # what is missing; all claims take 90 minutes
//	sudo go run ./suites/claims/claimspage -again D1 D8    # these two once more
//	go run ./suites/claims/claimspage -write               # the page from the runs alone
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/claims"
	"github.com/stele-go/stele/suites/internal/claimpage"
)

func main() {
	power.ServeDisk() // some claims cut the power
	if lab.IsBlock() {
		var all []lab.Experiment
		for _, c := range claimpage.All() {
			all = append(all, c.Experiments...)
		}
		os.Exit(lab.RunBlock(all))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := command(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "claimspage:", err)
		os.Exit(1)
	}
}

// A job is what the flags ask for.
type job struct {
	dir     string // of the page; the runs are in runs below it
	systems []string
	each    time.Duration // for a variant on a file system
	again   bool
	write   bool
	ids     []string
}

func command(ctx context.Context, args []string, progress io.Writer) error {
	var j job
	var systems string
	f := flag.NewFlagSet("claimspage", flag.ContinueOnError)
	f.StringVar(&j.dir, "dir", "suites/claims", "the page is README.md in this `DIR`, the raw runs are in runs below it")
	f.StringVar(&systems, "fs", strings.Join(claimpage.Systems(), ","), "measure on fresh images of these file systems, a `LIST`")
	f.DurationVar(&j.each, "each", 2500*time.Millisecond, "`TIME` for each variant on each file system; large set-ups take more")
	f.BoolVar(&j.again, "again", false, "measure claims again that have a run")
	f.BoolVar(&j.write, "write", false, "measure nothing, write the page")
	if err := f.Parse(args); err != nil {
		return err
	}
	j.systems, j.ids = strings.Split(systems, ","), f.Args()
	if j.each <= 0 {
		return fmt.Errorf("-each: %v; want more than 0", j.each)
	}
	for _, fs := range j.systems {
		if !slices.Contains(scratch.Systems(), fs) {
			return fmt.Errorf("-fs: %q; want %s", fs, strings.Join(scratch.Systems(), ", "))
		}
	}
	all := claimpage.All()
	for _, id := range j.ids {
		if !slices.ContainsFunc(all, func(c claims.Claim) bool { return c.ID == id }) {
			return fmt.Errorf("%s is no claim", id)
		}
	}
	return j.run(ctx, all, progress)
}

// run measures what is missing and writes the page after each claim.
func (j *job) run(ctx context.Context, all []claims.Claim, progress io.Writer) error {
	store := claimpage.Store{Dir: filepath.Join(j.dir, "runs")}
	if err := os.MkdirAll(store.Dir, 0o755); err != nil {
		return err
	}
	if !j.write {
		todo, err := j.todo(all, store)
		if err != nil {
			return err
		}
		var left time.Duration
		for _, c := range todo {
			left += j.budget(&c)
		}
		fmt.Fprintf(progress, "%d of %d claims to measure, about %v\n", len(todo), len(all), left.Round(time.Second))
		var measured []*run.Run
		for i, c := range todo {
			fmt.Fprintf(progress, "claim %d of %d, %s: %s; about %v left\n", i+1, len(todo), c.ID, c.Statement, left.Round(time.Second))
			// Some claims are about the same experiments.
			same := slices.IndexFunc(measured, func(r *run.Run) bool { return claimpage.Complete(&c, r) })
			if same < 0 {
				r, err := j.measure(ctx, &c, progress)
				if err != nil {
					return fmt.Errorf("%s: %w", c.ID, err)
				}
				same, measured = len(measured), append(measured, r)
			}
			left -= j.budget(&c)
			if err := errors.Join(keep(&c, measured[same], store, progress), j.writePage(all, store)); err != nil {
				return err
			}
		}
	}
	return j.writePage(all, store)
}

// todo returns the claims to measure.
func (j *job) todo(all []claims.Claim, store claimpage.Store) (todo []claims.Claim, err error) {
	for _, c := range all {
		if len(j.ids) > 0 && !slices.Contains(j.ids, c.ID) {
			continue
		}
		had, err := store.Load(c.ID)
		if err != nil {
			return nil, err
		}
		if j.again || !claimpage.Complete(&c, had) {
			todo = append(todo, c)
		}
	}
	return todo, nil
}

// places returns the file systems that a claim is measured on.
func (j *job) places(c *claims.Claim) []string {
	if c.InMemory() {
		return j.systems[:1]
	}
	return j.systems
}

// longer is how many times the time claims take whose blocks cannot be short: of 100,000
// files, among 2.8 million, until the kernel writes back by itself, of a file of gigabytes,
// of 1,000 goroutines or clients, or at a volume's rate.
var longer = map[string]int{"D3": 6, "C8": 6, "C10": 6, "C15": 6, "R4": 4, "R10": 4, "R12": 4, "L1": 2}

// budget is the time of a claim. One of few variants has that of 24, as a set-up takes its
// time too.
func (j *job) budget(c *claims.Claim) time.Duration {
	var variants int
	for _, e := range c.Experiments {
		variants += len(e.Variants)
	}
	return time.Duration(max(24, variants*len(j.places(c)))*max(1, longer[c.ID])) * j.each
}

// imageSize is that of each image, which takes only what is written. ext4 has an inode for
// every 4 KiB of it, and two claims need 2.8 million.
const imageSize = 16 << 30

// measure runs the experiments of a claim on fresh images.
func (j *job) measure(ctx context.Context, c *claims.Claim, progress io.Writer) (measured *run.Run, err error) {
	var places []lab.PlaceSpec
	systems := j.places(c)
	for _, fs := range systems {
		image, err := scratch.Image(ctx, scratch.Options{FS: fs, Size: imageSize})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, image.Close()) }()
		places = append(places, lab.PlaceSpec{Name: fs, Dir: image.Path, Discarded: true})
	}
	measured, err = lab.Measure(ctx, lab.Options{
		Places: places, Budget: j.budget(c),
		Command:  []string{"stele", "bench", c.ID, "--fs", strings.Join(systems, ","), "--budget", j.budget(c).String()},
		Progress: shower(c.ID, progress),
	}, c.Experiments...)
	if err == nil && (ctx.Err() != nil || measured.Partial != nil) {
		err = errors.New("interrupted; the claims before it are kept, and the next run goes on here")
	}
	return measured, err
}

// keep judges a claim by a run, and keeps the run as the claim's.
func keep(c *claims.Claim, r *run.Run, store claimpage.Store, progress io.Writer) error {
	r.Claims = c.Judge(r.Results, r.Places)
	for _, v := range r.Claims {
		fmt.Fprintf(progress, "  %s on %s: %s\n", c.ID, v.Place, v.Verdict)
	}
	return store.Save(c.ID, r)
}

// shower shows a line every ten seconds.
func shower(id string, w io.Writer) func(lab.Event) {
	last := time.Now()
	return func(e lab.Event) {
		if time.Since(last) < 10*time.Second {
			return
		}
		last = time.Now()
		left := ""
		if e.Left > 0 {
			left = fmt.Sprintf(", %.0f %%, about %v left of it", 100*e.Share, time.Duration(e.Left).Round(time.Second))
		}
		fmt.Fprintf(w, "  %s: experiment %d of %d, round %d of %d%s\n", id, e.Index, e.Of, e.Round, e.Rounds, left)
	}
}

func (j *job) writePage(all []claims.Claim, store claimpage.Store) error {
	text, err := claimpage.Page(all, store)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(j.dir, "README.md"), []byte(text), 0o644)
}
