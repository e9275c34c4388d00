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
connection ends, it connects again, and goes on after the line that it showed last; a line
with an earlier time that came meanwhile is not shown. Equal lines of one time are each shown,
but for some of those that come within the second in which it connects again. Lines
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
	f.DurationVar(&a.timeout, "timeout", time.Minute, "longest `TIME` until the server answers; for lines it waits without a limit; 0 means no limit")
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
	if err = cmp.Or(a.checkTimeout(), argCount(f, "QUERY", 1, 1), err, styleErr, oneOf("--output", *output, "text", "raw", "json", "csv"),
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
	// time that were printed, and again those that the answer of now has had.
	at          int64
	seen, again map[string]int
	// expected counts the lines that were asked for when the tail began to send, at joined:
	// it sends them too. fresh is whether it has sent another one since.
	expected map[string]int
	joined   time.Time
	fresh    bool
}

// settle is how long after a connection was made a tail may send lines that are expected.
// The server tells lines in the order of their acknowledgement, but for those of one moment.
const settle = time.Second

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
	t.expected = nil
	for message, err := range c.Tail(ctx, ask) {
		if err != nil {
			return connected, err
		}
		connected = true
		if again && len(message.Entries) > 0 { // the history of the tail is fixed now
			again = false
			if err := t.join(ctx, c); err != nil {
				return true, err
			}
		}
		if message.Dropped > 0 {
			t.warn(fmt.Errorf("%d lines were not taken fast enough, and are left out", message.Dropped))
		}
		if err := t.each(message.Entries, t.live); err != nil {
			return connected, err
		}
		if t.fresh && time.Since(t.joined) > settle {
			t.expected = nil
		}
	}
	return connected, ctx.Err()
}

// join prints the lines that came before the tail began to send, of which that sends the
// newest only, and some that come meanwhile.
func (t *tailer) join(ctx context.Context, c *lokiclient.Client) error {
	t.expected = map[string]int{}
	err := t.missed(ctx, c, func(e lokiclient.Entry) { t.expected[entryKey(&e)]++ })
	t.joined, t.fresh = time.Now(), false
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
		if err := t.each(r.Entries, t.entry); err != nil || len(r.Entries) < t.page {
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

func (t *tailer) each(all []lokiclient.Entry, show func(lokiclient.Entry) error) error {
	for _, e := range all {
		if err := show(e); err != nil {
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

// entry prints a line of an answer, unless it was printed before.
func (t *tailer) entry(e lokiclient.Entry) error {
	if e.Time < t.at {
		return t.out.print(e)
	}
	t.advance(e.Time)
	key := entryKey(&e)
	if t.again[key]++; t.again[key] <= t.seen[key] {
		return nil
	}
	t.seen[key]++
	return t.out.print(e)
}

// live prints a line of a tail, unless it is expected.
func (t *tailer) live(e lokiclient.Entry) error {
	t.advance(e.Time)
	if e.Time == t.at || len(t.expected) > 0 {
		key := entryKey(&e)
		if t.expected[key] > 0 {
			t.expected[key]--
			return nil
		}
		if e.Time == t.at {
			t.seen[key]++
		}
	}
	t.fresh = true
	return t.out.print(e)
}

// advance notes the time of a line that is about to be printed.
func (t *tailer) advance(at int64) {
	if at > t.at {
		t.at, t.seen, t.again = at, map[string]int{}, map[string]int{}
	}
}
