package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/internal/setting"
)

const tailUsage = `Usage: stele tail QUERY [flags]

Shows the lines of a log query as they come, until Ctrl-C: first the newest --limit
lines of the time --since, then each that the server at --addr acknowledges. If the
connection ends, it connects again, and goes on after the line that it showed last. Lines
that the server had to drop, as they were not taken fast enough, are counted on standard
error.

Formats (-o): text, raw, json and csv, as of stele query.

It exits with 0 after Ctrl-C, with 1 if the server cannot be reached at first or refuses
the query, and with 2 if the query or a flag is wrong.

Examples:
  stele tail '{app="shop"}'
  stele tail '{app="shop"} |= "timeout"' --since 1h -o raw
`

func tailCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele tail", tailUsage)
	var a clientFlags
	a.serverFlags(f)
	since := f.String("since", "5m", "begin with lines of the last `TIME`, such as 5m or 2h")
	limit := f.IntP("limit", "n", 100, "begin with at most `N` lines, the newest ones")
	delay := f.Duration("delay", 0, "let lines wait for `TIME`, whole seconds up to 5s, so that late ones come in order")
	output := f.StringP("output", "o", "text", "`FORMAT` text, raw, json or csv")
	color := colorFlag(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	back, err := optionalTime("--since", *since)
	look, styleErr := newStyle(*color, stdout)
	if err = cmp.Or(argCount(f, "QUERY", 1, 1), err, styleErr, oneOf("--output", *output, "text", "raw", "json", "csv"),
		setting.AtLeast("--limit", *limit, 1), checkDelay(*delay)); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	p, err := newEntryPrinter(stdout, *output, look)
	if err != nil {
		return failed(stderr, f.Name(), err)
	}
	t := tailer{
		ask: lokiclient.Tail{Query: f.Arg(0), Start: time.Now().Add(-back).UnixNano(), Limit: *limit, Delay: *delay},
		out: p, page: missedPage, warn: func(err error) { complain(stderr, f.Name(), err) },
	}
	code := a.ask(ctx, stderr, t.ask.Query, func(c *lokiclient.Client) error { return t.run(ctx, c) })
	if code == exitInterrupted {
		return exitOK // there is no other end
	}
	return code
}

func checkDelay(d time.Duration) error {
	if d < 0 || d > 5*time.Second || d%time.Second != 0 {
		return setting.Wrong("--delay", d, "whole seconds from 0s to 5s")
	}
	return nil
}

// A tailer prints new lines over connections that may end.
type tailer struct {
	ask  lokiclient.Tail
	page int // how many lines to ask Loki for at once after a connection was lost
	out  entryPrinter
	warn func(error)

	// at is the time of the newest line that was printed. seen counts the lines of that
	// time that were printed, and again those that came since the connection began.
	at          int64
	seen, again map[string]int
	// joined are the lines that were asked for once the connection was there. It may have
	// them, too.
	joined map[string]int
}

const (
	leastWait = 100 * time.Millisecond
	mostWait  = 15 * time.Second
	// missedPage is how many lines Loki is asked for at once after a connection was lost.
	missedPage = 1000
)

// run tails until ctx is done, or an error that no further try will mend. The first
// connection is tried once.
func (t *tailer) run(ctx context.Context, c *lokiclient.Client) error {
	ever := false
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		connected, err := t.connection(ctx, c, ever)
		ever = ever || connected
		if ctx.Err() != nil || !ever || !t.temporary(err) {
			return err
		}
		if connected {
			wait = leastWait
		}
		t.warn(fmt.Errorf("%w; trying again", err))
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}

// temporary reports whether another try may succeed. A server that does not give so many
// lines at once is asked for as many as the first time.
func (t *tailer) temporary(err error) bool {
	if e, ok := errors.AsType[*lokiclient.Error](err); ok && e.Status == http.StatusBadRequest && t.page > t.ask.Limit {
		t.page = t.ask.Limit
		return true
	}
	return lokiclient.Temporary(err) || errors.Is(err, lokiclient.ErrTorn)
}

// connection prints the lines of one connection; of one that is made again, first those
// that came meanwhile. It reports whether there was a connection.
func (t *tailer) connection(ctx context.Context, c *lokiclient.Client, again bool) (connected bool, err error) {
	ask := t.ask
	if again { // most lines now, and the few that come until the tail begins once it has begun
		if err := t.missed(ctx, c, func(lokiclient.Entry) {}); err != nil {
			return false, err
		}
		ask.Start = max(ask.Start, t.at)
	}
	for message, err := range c.Tail(ctx, ask) {
		if err != nil {
			return connected, err
		}
		if !connected && again {
			if err := t.join(ctx, c); err != nil {
				return true, err
			}
		}
		connected = true
		if message.Dropped > 0 {
			t.warn(fmt.Errorf("%d lines were not taken fast enough, and are left out", message.Dropped))
		}
		if err := t.entries(message.Entries); err != nil {
			return connected, err
		}
	}
	return connected, ctx.Err()
}

// join prints the lines that came before the connection was there.
func (t *tailer) join(ctx context.Context, c *lokiclient.Client) error {
	t.joined = map[string]int{}
	err := t.missed(ctx, c, func(e lokiclient.Entry) { t.joined[entryKey(&e)]++ })
	t.again = map[string]int{}
	return err
}

// missed prints the lines that came without a connection, and notes all from t.at on. A tail
// itself begins with the newest lines only.
func (t *tailer) missed(ctx context.Context, c *lokiclient.Client, note func(lokiclient.Entry)) error {
	t.again = map[string]int{}
	x := lokiclient.Export{Query: t.ask.Query, Start: max(t.ask.Start, t.at), End: time.Now().Add(time.Hour).UnixNano(), Forward: true}
	for e, err := range c.Export(ctx, x) {
		if answer, ok := errors.AsType[*lokiclient.Error](err); ok && answer.Status == http.StatusNotFound {
			return t.missedPages(ctx, c, x, note) // it is Loki
		}
		if err != nil {
			return err
		}
		e.Labels = withMetadata(e)
		note(e)
		if err := t.entry(e); err != nil {
			return errors.Join(errOutput, err)
		}
	}
	return t.flush()
}

// missedPages is missed page by page, as Loki answers it.
func (t *tailer) missedPages(ctx context.Context, c *lokiclient.Client, x lokiclient.Export, note func(lokiclient.Entry)) error {
	for {
		r, err := c.Query(ctx, lokiclient.Query{Text: x.Query, Start: x.Start, End: x.End, Limit: t.page, Forward: true})
		if err != nil {
			return err
		}
		t.again = map[string]int{}
		for _, e := range r.Entries {
			note(e)
		}
		if err := t.entries(r.Entries); err != nil || len(r.Entries) < t.page {
			return err
		}
		if t.at == x.Start { // a whole page of one time, of which there may be more
			t.warn(fmt.Errorf("%d lines or more have the time %s; some of them may be left out", t.page, timeText(t.at)))
			t.at++
		}
		x.Start = t.at
	}
}

// withMetadata returns the labels of a line as a tail has them: with its metadata.
func withMetadata(e lokiclient.Entry) map[string]string {
	if len(e.Metadata) == 0 {
		return e.Labels
	}
	all := maps.Clone(e.Metadata)
	maps.Copy(all, e.Labels)
	return all
}

var errOutput = errors.New("the output cannot be written")

func (t *tailer) entries(all []lokiclient.Entry) error {
	for _, e := range all {
		if err := t.entry(e); err != nil {
			return errors.Join(errOutput, err)
		}
	}
	return t.flush()
}

func (t *tailer) flush() error {
	if err := t.out.flush(); err != nil {
		return errors.Join(errOutput, err)
	}
	return nil
}

func entryKey(e *lokiclient.Entry) string {
	return fmt.Sprintf("%d %s %s", e.Time, labelText(e.Labels), e.Line)
}

// entry prints a line, unless it was printed before.
func (t *tailer) entry(e lokiclient.Entry) error {
	key := entryKey(&e)
	if e.Time < t.at {
		if t.joined[key] > 0 {
			t.joined[key]--
			return nil
		}
		return t.out.print(e)
	}
	if e.Time > t.at {
		t.at, t.seen, t.again = e.Time, map[string]int{}, map[string]int{}
	}
	if t.again[key]++; t.again[key] <= t.seen[key] {
		return nil
	}
	t.seen[key]++
	return t.out.print(e)
}
