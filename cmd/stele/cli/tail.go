package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/internal/setting"
)

const tailUsage = `Usage: stele tail QUERY [flags]

Shows the lines of a query as they come, until Ctrl-C: first those since --since, at
most --limit, then each that the server at --addr acknowledges. If the connection ends it
connects again, and goes on with the line where it was. Lines that the server had to
drop, as they were not taken fast enough, are counted on standard error.

Formats (-o): text, raw, json and csv, as of stele query.

Examples:
  stele tail --help
`

func tailCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele tail", tailUsage)
	var a asking
	a.serverFlags(f)
	since := f.String("since", "5m", "begin with the lines of so long ago: `TIME` such as 5m or 2h")
	limit := f.IntP("limit", "n", 100, "at most `N` lines of those")
	delay := f.Duration("delay", 0, "let lines wait for `TIME` up to 5s, so that late ones come in order")
	output := f.StringP("output", "o", "text", "`FORMAT` text, raw, json or csv")
	color := colorFlag(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	back, err := optionalTime("--since", *since)
	look, styleErr := newStyle(*color, stdout)
	if err = cmp.Or(argCount(f, "QUERY", 1, 1), err, styleErr, oneOf("--output", *output, "text", "raw", "json", "csv"),
		setting.AtLeast("--limit", *limit, 1), setting.InRange("--delay", *delay, 0, 5*time.Second)); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	p, err := newEntryPrinter(stdout, *output, look)
	if err != nil {
		return failed(stderr, f.Name(), err)
	}
	t := tailer{
		ask: lokiclient.Tail{Query: f.Arg(0), Start: time.Now().Add(-back).UnixNano(), Limit: *limit, Delay: *delay},
		out: p, warn: func(err error) { complain(stderr, f.Name(), err) },
	}
	code := a.ask(ctx, stderr, t.ask.Query, func(c *lokiclient.Client) error { return t.run(ctx, c) })
	if code == exitInterrupted {
		return exitOK // there is no other end
	}
	return code
}

// A tailer prints new lines over connections that may end.
type tailer struct {
	ask  lokiclient.Tail
	out  entryPrinter
	warn func(error)

	// at is the time of the newest line that was printed, and seen counts the lines of
	// that time: the next connection begins there.
	at   int64
	seen map[string]int
}

const (
	leastWait = 100 * time.Millisecond
	mostWait  = 15 * time.Second
	// tailReplay is how many lines a connection that begins again may ask for: those
	// that came meanwhile.
	tailReplay = 5000
)

// run tails until ctx is done, or an error that no further try will mend.
func (t *tailer) run(ctx context.Context, c *lokiclient.Client) error {
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		came, err := t.connection(ctx, c)
		if ctx.Err() != nil || !lokiclient.Temporary(err) || t.at == 0 && !came {
			return err
		}
		if came {
			wait = leastWait
		}
		t.warn(fmt.Errorf("%w; trying again", err))
		if t.at > 0 {
			t.ask.Start, t.ask.Limit = t.at, tailReplay
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}

// connection prints the lines of one connection. It reports whether there were some.
func (t *tailer) connection(ctx context.Context, c *lokiclient.Client) (came bool, err error) {
	skip := t.seen // of the time at, which come again
	t.seen = map[string]int{}
	for step, err := range c.Tail(ctx, t.ask) {
		if err != nil {
			if len(t.seen) == 0 {
				t.seen = skip
			}
			return came, err
		}
		came = true
		if step.Dropped > 0 {
			t.warn(fmt.Errorf("%d lines were not taken fast enough, and are left out", step.Dropped))
		}
		for _, e := range step.Entries {
			if err := t.entry(e, skip); err != nil {
				return came, errors.Join(errOutput, err)
			}
		}
		if err := t.out.flush(); err != nil {
			return came, errors.Join(errOutput, err)
		}
	}
	return came, ctx.Err()
}

var errOutput = errors.New("the output cannot be written")

// entry prints a line, unless the connection before has had it.
func (t *tailer) entry(e lokiclient.Entry, skip map[string]int) error {
	id := labelText(e.Labels) + "\x00" + e.Line
	if e.Time == t.at {
		t.seen[id]++
		if skip[id] > 0 {
			skip[id]--
			return nil
		}
	}
	if e.Time > t.at {
		t.at = e.Time
		clear(t.seen)
		t.seen[id]++
	}
	return t.out.print(e)
}
