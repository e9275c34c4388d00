package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	*pushing
	name   string // of the command
	client *lokiclient.Client
	sender *ship.Sender
	plain  bool // the server keeps no sources

	mu       sync.Mutex // guards what follows
	meter    *meter
	totals   pushTotals
	dry      entryPrinter
	why      error // of the first refusal
	failures []error
	known    map[string]bool // paths that are, or were, pushed
	running  sync.WaitGroup
	watcher  *follow.Watcher // nil without --follow
}

const (
	// mostAtOnce is how many files are sent at once without --follow.
	mostAtOnce = 4
	// rescan is how often patterns are looked at for new files.
	rescan = 2 * time.Second
)

func (p *pushing) run(ctx context.Context, files []string, stdin io.Reader, stdout, stderr io.Writer) int {
	name := p.f.Name()
	m, err := newMeter(p.progress, stderr)
	if err != nil {
		return usageError(stderr, name, exitUsage, err)
	}
	m.jsonEvery = time.Second
	u := &pusher{pushing: p, name: name, meter: m, totals: pushTotals{Event: "pushed", begun: time.Now()}, known: map[string]bool{}}
	if err := u.connect(ctx, stdout); err != nil {
		return p.failed(stderr, "", err)
	}
	m.last = time.Now() // short work shows nothing
	if u.follow {
		u.watcher = follow.NewWatcher()
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
	_, _, err = u.position(ctx, "push:probe")
	if errors.Is(err, lokiclient.ErrNoSources) {
		u.plain, u.sender.Lenient, err = true, true, nil
	}
	return err
}

// position asks for the position of a source, until the server answers.
func (u *pusher) position(ctx context.Context, name string) (at uint64, known bool, err error) {
	begun := time.Now()
	for wait := leastWait; ; wait = min(2*wait, mostWait) {
		at, known, err = u.client.Source(ctx, name)
		if err == nil || !lokiclient.Temporary(err) || u.giveUp > 0 && (!u.follow || time.Since(begun) > u.giveUp) {
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
func (u *pusher) all(ctx context.Context, files []string, stdin io.Reader) {
	turns := make(chan struct{}, mostAtOnce)
	paths, err := u.paths(files, true)
	u.fail(err)
	u.expect(paths)
	for {
		for _, path := range paths {
			u.known[path] = true
			if !u.follow {
				turns <- struct{}{}
			}
			u.running.Add(1)
			go func() {
				defer u.running.Done()
				u.fail(u.one(ctx, path, stdin))
				if !u.follow {
					<-turns
				}
			}()
		}
		if !u.follow || !slices.ContainsFunc(files, hasPattern) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rescan):
		}
		paths, _ = u.paths(files, false) // a pattern is wrong always or never
	}
}

func hasPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// paths returns the files that the arguments name and that are not known yet, with
// absolute names; "-" is standard input. A file that is not there is an error, if it is to
// be sent now.
func (u *pusher) paths(files []string, now bool) (paths []string, err error) {
	for _, name := range files {
		list := []string{name}
		if _, missing := os.Lstat(name); name != "-" && missing != nil && hasPattern(name) {
			if list, err = filepath.Glob(name); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(list) == 0 && now && !u.follow {
				return nil, fmt.Errorf("%s: no file has such a name", name)
			}
		}
		for _, path := range list {
			if path != "-" {
				if path, err = filepath.Abs(path); err != nil {
					return nil, err
				}
			}
			if !u.known[path] && !slices.Contains(paths, path) && !u.isRotated(path, paths) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}

// isRotated reports whether the name is one of those that the file of a source has once it
// is rotated, app.log.1 of app.log: it is sent as what it was.
func (u *pusher) isRotated(path string, others []string) bool {
	if !u.follow {
		return false
	}
	for base := strings.TrimSuffix(path, ".gz"); ; {
		i := strings.LastIndexAny(base, ".-")
		if i <= strings.LastIndexByte(base, filepath.Separator) {
			return false
		}
		if base = base[:i]; u.known[base] || slices.Contains(others, base) {
			return true
		}
	}
}

// expect adds up the sizes of the files, for the progress.
func (u *pusher) expect(paths []string) {
	for _, path := range paths {
		fi, err := os.Stat(path)
		if u.follow || path == "-" || err != nil || strings.HasSuffix(path, ".gz") {
			u.totals.Of = 0
			return
		}
		u.totals.Of += fi.Size()
	}
}

// one sends one file, or standard input.
func (u *pusher) one(ctx context.Context, path string, stdin io.Reader) error {
	if path == "-" {
		return u.stdin(ctx, stdin)
	}
	if !u.follow {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	if u.dryRun {
		return u.dryFile(ctx, path)
	}
	book, err := follow.OpenBook(u.bookmarks, u.client.Addr()+" "+u.tenant, u.sourceName(path), path)
	if err != nil {
		return err
	}
	defer book.Close()
	again := u.again
	for {
		err := u.source(ctx, path, book, again)
		_, lost := errors.AsType[*follow.LostError](err)
		if !u.follow || lost || ctx.Err() != nil || err == nil {
			return err
		}
		// A file may be compressed just now, or its disk be away for a while.
		u.warn(fmt.Errorf("%w; trying again in %v", err, mostWait))
		again = false
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(mostWait):
		}
	}
}

// source sends the lines of a file behind those that the server has.
func (u *pusher) source(ctx context.Context, path string, book *follow.Book, again bool) error {
	name := u.sourceName(path)
	after := book.Sent()
	if !u.plain {
		at, known, err := u.position(ctx, name)
		if err != nil {
			return err
		}
		if after = 0; known {
			after = follow.Position(at)
		}
	}
	u.skipped(after, path)
	src, err := follow.NewSource(path, book, after, follow.Options{
		Follow: u.follow, FromEnd: u.fromEnd, Again: again, MaxLine: int(u.lineMax), Warn: u.warn, Watcher: u.watcher,
	})
	if err != nil {
		return err
	}
	defer src.Close()
	return u.lines(ctx, src, book, name, path)
}

// skipped counts what was sent before as done.
func (u *pusher) skipped(after follow.Position, path string) {
	if fi, err := os.Stat(path); err == nil && !u.again && !u.follow {
		u.mu.Lock()
		u.totals.Of = max(0, u.totals.Of-min(after.Offset(), fi.Size()))
		u.mu.Unlock()
	}
}

// sourceName names a file of this machine in at most 256 bytes.
func (u *pusher) sourceName(path string) string {
	name := "push:" + u.machine + ":" + path
	if len(name) > 200 {
		hash := sha256.Sum256([]byte(name))
		name = name[:160] + "..." + hex.EncodeToString(hash[:16])
	}
	return name
}

// lines sends the lines of a source.
func (u *pusher) lines(ctx context.Context, src *follow.Source, book *follow.Book, name, path string) error {
	p := &lokiclient.Push{Labels: labelText(u.labelsOf(path)), Source: name}
	if u.plain {
		p.Source = ""
	}
	clock := lineClock{parser: u.parser}
	for {
		lines, err := src.Next(ctx, int(u.batches))
		if errors.Is(err, io.EOF) {
			u.count(func(t *pushTotals) { t.Files++ })
			return nil
		}
		if err != nil {
			return err
		}
		p.Entries = p.Entries[:0]
		clock.read = time.Now().UnixNano()
		for _, l := range lines {
			p.Entries = append(p.Entries, lokiclient.PushEntry{Time: clock.of(l.Text), Line: l.Text, Offset: uint64(l.End)})
		}
		if err := u.send(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if u.plain {
			if err := book.SetSent(lines[len(lines)-1].End); err != nil {
				return err
			}
		}
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
	u.meter.show(false, u.totals, u.totals.describe)
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
	if ctx.Err() != nil && !u.follow {
		return exitInterrupted
	}
	return exitOK
}

// A lineClock tells the time of each line: the one that it names, else that of the line
// before, else that of its reading.
type lineClock struct {
	parser *logTimes
	read   int64 // when the lines were read
	last   int64 // of the line before; 0 is none
}

func (c *lineClock) of(line []byte) int64 {
	if c.parser == nil {
		return c.read
	}
	if ns, ok := c.parser.Find(line); ok {
		c.last = ns
		return ns
	}
	if c.last != 0 {
		return c.last
	}
	return c.read
}

// newKey returns a key for a batch that has no source.
func newKey() (key [16]byte) {
	rand.Read(key[:]) // never fails
	return key
}
