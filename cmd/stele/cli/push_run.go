package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/follow"
	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/cmd/stele/internal/ship"
	"github.com/stele-go/stele/internal/units"
)

func decimalSize(n int64) string { return units.Decimal(float64(n)) }

// A pusher sends files, several at once.
type pusher struct {
	*pushFlags
	name   string // of the command
	client *lokiclient.Client
	sender *ship.Sender
	plain  bool // the server keeps no sources

	failFast bool // a server that cannot be reached is an error at once

	mu       sync.Mutex // guards what follows
	meter    *meter
	totals   pushTotals
	dry      entryPrinter
	why      error // of the first refusal
	failures []error
	known    map[string]bool // paths that are, or were, pushed
	running  sync.WaitGroup
	cutShort bool // standard input goes on behind what was read

	watcher *follow.Watcher // nil without --follow
	turns   chan struct{}   // of sources that have text in memory
	starts  chan struct{}   // of sources that begin
}

const (
	// mostAtOnce is how many files are sent at once without --follow.
	mostAtOnce = 4
	// mostTurns is how many files are read and sent at once with --follow.
	mostTurns = 16
	// rescan is how often patterns are looked at for new files.
	rescan = 2 * time.Second
)

func (p *pushFlags) run(ctx context.Context, files []string, stdin io.Reader, stdout, stderr io.Writer) int {
	name := p.f.Name()
	m, err := newMeter(p.progress, stderr)
	if err != nil {
		return usageError(stderr, name, exitUsage, err)
	}
	m.jsonEvery = time.Second
	u := &pusher{pushFlags: p, name: name, meter: m, totals: pushTotals{Event: "pushed", begun: time.Now()}, known: map[string]bool{}}
	if err := u.connect(ctx, stdout); err != nil {
		switch {
		case ctx.Err() == nil:
			return p.failed(stderr, "", err)
		case u.follow:
			return exitOK
		}
		return exitInterrupted
	}
	m.last = time.Now() // short work shows nothing
	if u.follow {
		u.watcher, u.turns, u.starts = follow.NewWatcher(), make(chan struct{}, mostTurns), make(chan struct{}, mostTurns)
		defer u.watcher.Close()
	}
	u.all(ctx, files, stdin)
	u.running.Wait()
	return u.end(ctx, stderr)
}

// connect makes the client, and asks whether the server keeps sources.
func (u *pusher) connect(ctx context.Context, stdout io.Writer) (err error) {
	if u.dryRun {
		look, err := newStyle(u.color, stdout)
		if err != nil {
			return err
		}
		u.dry, err = newEntryPrinter(stdout, u.output, look)
		return err
	}
	if u.client, _, err = u.clientFlags.client(ctx); err != nil {
		return err
	}
	u.sender = &ship.Sender{Pusher: u.client, GiveUp: u.giveUp, Retry: func(err error, wait time.Duration) {
		if wait >= time.Second { // the first tries are of no interest
			u.warn(fmt.Errorf("%w; trying again in %v", err, wait.Round(100*time.Millisecond)))
		}
	}}
	u.failFast = !u.follow && !u.f.Changed("give-up")
	_, _, err = u.position(ctx, "push:probe")
	u.failFast = false
	if errors.Is(err, lokiclient.ErrNoSources) {
		u.plain, u.sender.Lenient, err = true, true, nil
	}
	return err
}

// position asks for the position of a source, until the server answers: at the start once,
// without --follow and --give-up.
func (u *pusher) position(ctx context.Context, name string) (at uint64, known bool, err error) {
	begun := time.Now()
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		at, known, err = u.client.Source(ctx, name)
		if err == nil || !lokiclient.Temporary(err) || u.failFast || u.giveUp > 0 && time.Since(begun) > u.giveUp {
			return at, known, err
		}
		if wait > time.Second {
			u.warn(fmt.Errorf("%w; trying again in %v", err, wait))
		}
		select {
		case <-ctx.Done():
			return 0, false, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (u *pusher) warn(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.meter.warn(u.name, err)
}

// gap tells of lines that may be missing.
func (u *pusher) gap(err error) {
	u.warn(err)
	u.count(func(t *pushTotals) { t.Gaps++ })
}

func (u *pusher) fail(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	u.mu.Lock()
	u.failures = append(u.failures, err)
	u.mu.Unlock()
	if u.follow {
		u.warn(err) // the others go on
	}
}

// all sends all files. With --follow it looks for new ones until ctx is done.
func (u *pusher) all(ctx context.Context, args []string, stdin io.Reader) {
	atOnce := make(chan struct{}, mostAtOnce)
	files := u.files(args, true)
	u.expect(files)
	for {
		for _, file := range files {
			u.known[file.path] = true
			if !u.follow {
				atOnce <- struct{}{}
			}
			u.running.Go(func() {
				u.fail(u.one(ctx, file, stdin))
				if !u.follow {
					<-atOnce
				}
			})
		}
		if !u.follow || !slices.ContainsFunc(args, hasPattern) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rescan):
		}
		files = u.files(args, false)
	}
}

// send sends a push, and counts it.
func (u *pusher) send(ctx context.Context, p *lokiclient.Push) error {
	refused, why, err := u.sender.Send(ctx, p)
	if err != nil {
		return err
	}
	u.mu.Lock()
	if why != nil && u.why == nil {
		u.why = why
	}
	u.mu.Unlock()
	bytes := int64(0)
	for _, e := range p.Entries {
		bytes += int64(len(e.Line)) + 1
	}
	u.count(func(t *pushTotals) {
		t.Lines += int64(len(p.Entries))
		t.Bytes += bytes
		t.Refused += int64(refused)
	})
	return nil
}

func (u *pusher) count(add func(*pushTotals)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	add(&u.totals)
	u.meter.show(false, u.totals, u.totals.bar)
}

// end prints what was done, and returns the exit code.
func (u *pusher) end(ctx context.Context, stderr io.Writer) int {
	u.meter.end()
	if u.dryRun {
		u.fail(u.dry.flush())
	} else if u.meter.mode != "none" {
		u.meter.note(u.totals, u.name+": "+u.totals.describe())
	}
	if u.why != nil {
		u.failures = append(u.failures, fmt.Errorf("%s lines were refused: %w", grouped(u.totals.Refused), u.why))
	}
	if err := errors.Join(u.failures...); err != nil {
		return u.failed(stderr, "", err)
	}
	if ctx.Err() != nil && (!u.follow || u.cutShort) {
		return exitInterrupted
	}
	return exitOK
}
