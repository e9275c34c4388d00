package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/follow"
	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

// quiet is how long lines of standard input wait for others to be sent with.
const quiet = 200 * time.Millisecond

// lastWord is how long, after SIGTERM, lines that were read are still sent.
var lastWord = 5 * time.Second

// stdin sends the lines of standard input. There is no second time, so no bookmark: it is a
// source of a random name, in which a batch that is sent again is known however long the
// server was away, and which is forgotten at the end. Lines that were read when ctx is done
// are sent, if the server takes them soon; else their number is part of the error.
func (u *pusher) stdin(ctx context.Context, stdin io.Reader) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan [][]byte)
	readErr := make(chan error, 1)
	go func() {
		defer close(batches)
		readErr <- readBatches(reading, stdin, int(u.batches), int(u.lineMax), batches)
	}()
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	last := lastWord
	defer context.AfterFunc(ctx, func() { time.AfterFunc(last, cancel) })()

	labels := u.labelsOf("")
	clock := lineClock{parser: u.parser}
	p := &lokiclient.Push{Labels: labelText(labels)}
	if !u.plain && !u.dryRun {
		p.Source = u.sourceName("-#" + rand.Text())
		defer u.forget(ctx, p.Source)
	}
	var err error
	read := uint64(0)
	lost := 0
	for lines := range batches {
		if err != nil {
			lost += len(lines)
			continue // until the reader has handed out all
		}
		clock.read = time.Now().UnixNano()
		p.Entries = p.Entries[:0]
		for _, l := range lines {
			read++
			p.Entries = append(p.Entries, lokiclient.PushEntry{Time: clock.of(l), Line: l, Offset: read})
		}
		if u.dryRun {
			err = u.printDry(p, labels)
		} else if err = u.send(sending, p); err != nil {
			lost += len(lines)
		}
		if err != nil {
			stop()
		}
	}
	if lost > 0 && !u.dryRun {
		return fmt.Errorf("standard input: %s that were read are not acknowledged: %w", lineCount(int64(lost)), notCanceled(err))
	}
	if err == nil {
		err = <-readErr
	}
	if ctx.Err() != nil {
		u.mu.Lock()
		u.cutShort = true
		u.mu.Unlock()
	}
	return err
}

// notCanceled words the end of the last word.
func notCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("the server did not take them within %v after the signal", lastWord)
	}
	return err
}

// forget forgets the source of standard input. If the server does not take that, it keeps a
// name too many.
func (u *pusher) forget(ctx context.Context, source string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	_ = u.client.ForgetSource(ctx, source)
}

// printDry prints the lines of a push that is not sent.
func (u *pusher) printDry(p *lokiclient.Push, labels map[string]string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range p.Entries {
		if err := u.dry.print(lokiclient.Entry{Time: e.Time, Line: string(e.Line), Labels: labels}); err != nil {
			return err
		}
	}
	return nil
}

// dryFile prints the lines of a file, with the labels of another or the same one.
func (u *pusher) dryFile(ctx context.Context, path, labelled string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := follow.Text(f)
	if err != nil {
		return err
	}
	labels := u.labelsOf(labelled)
	clock := lineClock{parser: u.parser, read: time.Now().UnixNano()}
	cutter := lineCutter{most: int(u.lineMax)}
	p := &lokiclient.Push{}
	pieces := pieceReader{r: r}
	for last := false; !last; {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece, err := pieces.read()
		if last = errors.Is(err, io.EOF); err != nil && !last {
			return err
		}
		p.Entries = p.Entries[:0]
		for _, line := range cutter.lines(piece, last) {
			p.Entries = append(p.Entries, lokiclient.PushEntry{Time: clock.of(line), Line: line})
		}
		if err := u.printDry(p, labels); err != nil {
			return err
		}
	}
	return nil
}

// A lineCutter cuts text that comes in pieces into lines; longer ones are cut themselves.
type lineCutter struct {
	most int
	rest []byte
}

// lines returns the lines that a piece completes, and with last what is behind them.
func (c *lineCutter) lines(piece []byte, last bool) (lines [][]byte) {
	text := piece
	if len(c.rest) > 0 {
		text = append(bytes.Clone(c.rest), piece...)
	}
	for len(text) > 0 {
		line, size := follow.CutLine(text, c.most, last)
		if size == 0 {
			break
		}
		lines = append(lines, line)
		text = text[size:]
	}
	c.rest = text
	return lines
}

// A pieceReader reads what is there.
type pieceReader struct {
	r   io.Reader
	buf [64 << 10]byte
}

// read returns a piece of its own size, as lines of it may wait for long: one of a program that
// writes a line at a time is short.
func (p *pieceReader) read() ([]byte, error) {
	n, err := p.r.Read(p.buf[:])
	return bytes.Clone(p.buf[:n]), err
}

// readBatches reads lines, and hands them out once they are many, or no more come for a
// moment. When ctx is done, all that was read is handed out; of what comes then, nothing is
// read.
func readBatches(ctx context.Context, r io.Reader, most, lineMax int, batches chan<- [][]byte) error {
	type piece struct {
		text []byte
		err  error
	}
	pieces := make(chan piece)
	ended := make(chan struct{})
	defer close(ended)
	go func() { // it may wait for input for ever, and then ends with the process
		in := pieceReader{r: r}
		for ctx.Err() == nil {
			text, err := in.read()
			select {
			case pieces <- piece{text, err}:
			case <-ended:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	cutter := lineCutter{most: lineMax}
	var batch [][]byte
	size := 0
	hand := func() {
		if len(batch) > 0 {
			batches <- batch
			batch, size = nil, 0
		}
	}
	take := func(text []byte, last bool) {
		for _, line := range cutter.lines(text, last) {
			batch = append(batch, line)
			if size += len(line); size >= most || len(batch) == mostLines {
				hand()
			}
		}
		if last {
			hand()
		}
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case p := <-pieces:
			if len(batch) == 0 {
				timer.Reset(quiet)
			}
			take(p.text, p.err != nil)
			if errors.Is(p.err, io.EOF) {
				return nil
			} else if p.err != nil {
				return p.err
			}
		case <-timer.C:
			hand()
		case <-ctx.Done():
			select { // a piece that was read just now
			case p := <-pieces:
				take(p.text, false)
			case <-time.After(quiet):
			}
			take(nil, true)
			return ctx.Err()
		}
	}
}
