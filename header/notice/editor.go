package notice

import (
	"bytes"
	"errors"
	"io/fs"
)

// A State is the state of a file after an edit.
type State string

const (
	Inserted State = "inserted" // the notice has to be inserted: see Change.New
	Replaced State = "replaced" // an older notice has to be replaced
	Removed  State = "removed"  // the notice has to be removed
	Present  State = "has"      // the notice is there already
	Other    State = "other"    // another notice is there, and stays
	Missing  State = "missing"  // no notice is there, and none is to be inserted
	Skipped  State = "skipped"  // the file was not edited; Change.Reason says why
)

// A Change is the result of editing one file.
type Change struct {
	State State
	// Style is the comment style of the file, as Options.Styles has it; "" if the
	// file was skipped.
	Style string
	// Reason says why the file was skipped, or which other notice or comment was
	// found.
	Reason string
	// New replaces Old, the bytes that the file begins with. Both are nil if the
	// file needs no change.
	Old, New []byte
}

// Apply returns src with the change made. src is the content that was edited, or
// a longer part of the same file. If there is nothing to change it returns src
// itself.
func (c Change) Apply(src []byte) []byte {
	if c.New == nil {
		return src
	}
	return append(bytes.Clone(c.New), src[len(c.Old):]...)
}

func skip(reason string) Change { return Change{State: Skipped, Reason: reason} }

// ErrShort is the error of EditHead if the comments at the head of a file may
// go on beyond the bytes given.
var ErrShort = errors.New("the comments at the head of the file are too long")

// Edit decides on the change of the file name with the content src. The name
// selects the language and fills in {{.File}}; nothing is read from it. The
// error is an *fs.PathError: the comments of this file cannot hold the text.
func (e *Editor) Edit(name string, src []byte) (Change, error) { return e.edit(name, src, true) }

// EditHead is Edit for a file of which head is only the beginning, at least 8
// KiB. It returns ErrShort, in an *fs.PathError, if more bytes are needed to
// decide; any decision is the one that Edit makes for the whole file.
func (e *Editor) EditHead(name string, head []byte) (Change, error) {
	return e.edit(name, head, false)
}

func (e *Editor) edit(name string, src []byte, whole bool) (Change, error) {
	c, err := e.decide(name, src, whole)
	if err != nil {
		return c, &fs.PathError{Op: string(e.o.Action) + " notice", Path: name, Err: err}
	}
	return c, nil
}

func (e *Editor) decide(name string, src []byte, whole bool) (Change, error) {
	switch {
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		return skip("UTF-16"), nil
	case bytes.IndexByte(src[:min(len(src), 1024)], 0) >= 0:
		return skip("binary"), nil
	}
	lang, reason := e.languages.of(name, src)
	if reason != "" {
		return skip(reason), nil
	}
	style := lang.styles[0]
	d := decision{Editor: e, name: name, style: style}
	eol := endOfLine(src)
	var err error
	if d.notice, err = d.render(e.tmpl, e.o.Year, eol); err != nil {
		return Change{Style: style.name()}, err
	}
	d.head = parseHead(lang, src, d.notice, eol)
	if !whole && d.scanned > len(src)/2 {
		return Change{Style: style.name()}, ErrShort
	}
	if lang.needs != "" && !bytes.Contains(src[:d.start], []byte(lang.needs)) {
		return skip("does not begin with " + lang.needs), nil
	}
	return d.change()
}
