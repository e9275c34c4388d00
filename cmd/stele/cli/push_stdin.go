package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stele-go/stele/cmd/stele/internal/logtime"
	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

type logTimes = logtime.Parser

// quiet is how long lines of standard input wait for others to be sent with.
const quiet = 200 * time.Millisecond

// stdin sends the lines of standard input. There is no second time, so no bookmark: each
// batch has a key, by which the server keeps it once.
func (u *pusher) stdin(ctx context.Context, stdin io.Reader) error {
	labels := u.labelsOf("")
	clock := lineClock{parser: u.parser}
	p := &lokiclient.Push{Labels: labelText(labels)}
	batches := make(chan [][]byte)
	readErr := make(chan error, 1)
	go func() {
		defer close(batches)
		readErr <- readBatches(ctx, stdin, int(u.batches), int(u.lineMax), batches)
	}()
	for lines := range batches {
		clock.read = time.Now().UnixNano()
		p.Entries, p.Key = p.Entries[:0], newKey()
		for _, l := range lines {
			p.Entries = append(p.Entries, lokiclient.PushEntry{Time: clock.of(l), Line: l})
		}
		err := u.printDry(p, labels)
		if !u.dryRun {
			err = u.send(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return <-readErr
}

// printDry prints the lines of a push that is not sent.
func (u *pusher) printDry(p *lokiclient.Push, labels map[string]string) error {
	if !u.dryRun {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range p.Entries {
		if err := u.dry.print(lokiclient.Entry{Time: e.Time, Line: string(e.Line), Labels: labels}); err != nil {
			return err
		}
	}
	return nil
}

// dryFile prints the lines of a file.
func (u *pusher) dryFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	labels := u.labelsOf(path)
	in := io.Reader(r)
	if magic, _ := r.Peek(3); bytes.Equal(magic, []byte{0x1f, 0x8b, 8}) {
		if in, err = gzip.NewReader(r); err != nil {
			return err
		}
	}
	clock := lineClock{parser: u.parser, read: time.Now().UnixNano()}
	return eachLine(in, int(u.lineMax), func(line []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return u.printDry(&lokiclient.Push{Entries: []lokiclient.PushEntry{{Time: clock.of(line), Line: line}}}, labels)
	})
}

// eachLine calls f with each line; longer ones come in pieces.
func eachLine(r io.Reader, most int, f func([]byte) error) error {
	b := bufio.NewReaderSize(r, max(16, most))
	for {
		line, err := b.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(line) > 0 {
			if err := f(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readBatches reads lines, and hands them out once they are many, or no more come for a
// moment.
func readBatches(ctx context.Context, r io.Reader, most, lineMax int, batches chan<- [][]byte) error {
	lines := make(chan []byte, 256)
	readErr := make(chan error, 1)
	go func() { // it may wait for input for ever, and then ends with the process
		defer close(lines)
		readErr <- eachLine(r, lineMax, func(line []byte) error {
			select {
			case lines <- bytes.Clone(line):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	var batch [][]byte
	size := 0
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	hand := func() {
		if len(batch) > 0 {
			batches <- batch
			batch, size = nil, 0
		}
	}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				hand()
				return <-readErr
			}
			if len(batch) == 0 {
				timer.Reset(quiet)
			}
			batch = append(batch, line)
			if size += len(line); size >= most {
				hand()
			}
		case <-timer.C:
			hand()
		case <-ctx.Done():
			hand() // it was read: it is sent, if the server takes it at once
			return ctx.Err()
		}
	}
}
