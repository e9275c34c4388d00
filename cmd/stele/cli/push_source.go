package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/follow"
	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

// mostLines is how many lines a request has at most.
const mostLines = 10_000

// one sends one file and its older generations, or standard input.
func (u *pusher) one(ctx context.Context, file pushFile, stdin io.Reader) error {
	path := file.path
	if path == "-" {
		return u.stdin(ctx, stdin)
	}
	_, err := os.Stat(path)
	if err != nil && !u.follow && len(file.older) == 0 {
		return err
	}
	if u.dryRun {
		for _, older := range file.older {
			if err := u.dryFile(ctx, older, path); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
		return u.dryFile(ctx, path, path)
	}
	book, err := follow.OpenBook(u.bookmarks, u.server(), u.sourceName(path), path)
	if err != nil {
		return err
	}
	defer book.Close()
	if book.IsNew() || u.again {
		if err := u.olderOnes(ctx, file, nil); err != nil {
			return err
		}
		return u.persist(ctx, path, book)
	}
	// What the file was before has bookmarks once it is sent, and is not sent again then.
	if err := u.persist(ctx, path, book); err != nil || u.follow {
		return err
	}
	return u.olderOnes(ctx, file, book)
}

// server names the server in bookmarks.
func (u *pusher) server() string { return u.client.Addr() + " " + u.tenant }

// persist sends a file; with --follow until ctx is done.
func (u *pusher) persist(ctx context.Context, path string, book *follow.Book) error {
	again := u.again
	for {
		err := u.source(ctx, path, path, book, u.sourceName(path), follow.Options{Follow: u.follow, FromEnd: u.fromEnd, Again: again})
		_, lost := errors.AsType[*follow.LostError](err)
		if !u.follow || lost || ctx.Err() != nil || err == nil || errors.Is(err, follow.ErrCompressed) {
			return err
		}
		// A file may be compressed just now, or its disk be away for a while.
		u.warn(fmt.Errorf("%w; trying again in %v", descriptors(err), mostWait))
		again = false
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(mostWait):
		}
	}
}

// descriptors says what to do if there are too few of them.
func descriptors(err error) error {
	if errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("%w: a file that is followed takes two descriptors: want a limit ('ulimit -Hn') above twice the number of files, or fewer files", err)
	}
	return err
}

// olderOnes sends the older generations of a file that are not in its book, unless that is
// nil. They are sources of their own, named by their content: their names change.
func (u *pusher) olderOnes(ctx context.Context, file pushFile, book *follow.Book) error {
	if len(file.older) == 0 {
		return nil
	}
	if u.follow {
		u.starts <- struct{}{}
		defer func() { <-u.starts }()
	}
	var errs []error
	for _, path := range file.older {
		err := u.olderOne(ctx, path, file.path, book)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && u.follow {
			u.fail(err) // the file itself is followed
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (u *pusher) olderOne(ctx context.Context, path, base string, book *follow.Book) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := follow.ContentName(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if content == "" || book != nil && book.Knows(f) {
		return nil
	}
	name := u.sourceName(base) + "#" + content
	own, err := follow.OpenBook(u.bookmarks, u.server(), name, path)
	if err != nil {
		return err
	}
	defer own.Close()
	return u.source(ctx, path, base, own, name, follow.Options{Alone: true, Again: u.again})
}

// source sends the lines of a file behind those that the server has, with the labels of
// another or the same one.
func (u *pusher) source(ctx context.Context, path, labelled string, book *follow.Book, name string, o follow.Options) error {
	o.MaxLine, o.Warn, o.Watcher, o.Turns = int(u.lineMax), u.gap, u.watcher, u.turns
	src, err := u.begin(ctx, path, book, name, o)
	if err != nil {
		return err
	}
	defer src.Close()
	return u.lines(ctx, src, book, name, labelled)
}

// begin opens a source behind the lines that the server has.
func (u *pusher) begin(ctx context.Context, path string, book *follow.Book, name string, o follow.Options) (*follow.Source, error) {
	if o.Follow {
		u.starts <- struct{}{}
		defer func() { <-u.starts }()
	}
	after := book.Sent()
	if !u.plain {
		at, known, err := u.position(ctx, name)
		if err != nil {
			return nil, err
		}
		if after = 0; known {
			after = follow.Position(at)
		}
	}
	u.skipped(after, path)
	return follow.NewSource(path, book, after, o)
}

// skipped counts what was sent before as done.
func (u *pusher) skipped(after follow.Position, path string) {
	if fi, err := os.Stat(path); err == nil && !u.again && !u.follow {
		u.mu.Lock()
		u.totals.Of = max(0, u.totals.Of-min(after.Offset(), fi.Size()))
		u.mu.Unlock()
	}
}

// sourceName names a file of this machine in at most 200 bytes.
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
	if u.parser != nil {
		for line := range bytes.Lines(src.Before(64 << 10)) {
			clock.of(line) // a stack trace that goes on has the time of its first line
		}
	}
	for {
		lines, err := src.Next(ctx, int(u.batches))
		if errors.Is(err, io.EOF) {
			u.count(func(t *pushTotals) { t.Files++ })
			return nil
		}
		if err != nil {
			return err
		}
		clock.read = time.Now().UnixNano()
		for lines := range slices.Chunk(lines, mostLines) {
			p.Entries = p.Entries[:0]
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
		if u.follow && cap(p.Entries) > 64 {
			p.Entries = nil // the file may be quiet for long
		}
	}
}
