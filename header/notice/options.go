package notice

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/stele-go/stele/internal/setting"
)

// An Action is what an Editor does with the notice of each file.
type Action string

const (
	// Check reports whether the notice is there, and changes nothing. It is what
	// the zero value means.
	Check Action = "check"
	// Insert adds the notice to files without one.
	Insert Action = "insert"
	// Replace puts the notice in the place of an older one, and inserts it into
	// files without one.
	Replace Action = "replace"
	// Remove deletes the notice.
	Remove Action = "remove"
)

// Options are the settings of an Editor.
type Options struct {
	// Action is Check by default.
	Action Action
	// Text is the notice without comment marks: a text/template of {{.Year}} and
	// {{.File}}, the base name of the file. Insert and Replace need it. Remove
	// needs Text or Markers. Without Text, Check looks for Markers, or without
	// these for any legal notice.
	Text string
	// Year is the value of {{.Year}}. With KeepYears, Replace prefers the years
	// of the notice that it replaces.
	Year      string
	KeepYears bool
	// Old is an older text of the notice, which Replace replaces too: a template
	// like Text, whose years do not matter. "" is no older text.
	Old string
	// Markers identify the notice besides Text and Old: a comment that contains
	// one of them is the notice, if it is a legal notice or an empty line
	// separates it from the code.
	Markers []string
	// Exact makes Check accept Text only: no marker, and no other notice.
	Exact bool
	// Generated includes generated files, which are skipped by default.
	Generated bool
	// Styles override the comment style of a file: "#" begins each line, "/* */"
	// opens and closes, "none" writes the text as it is. "NAME=STYLE" is for one
	// file name or extension (".x"), "STYLE" for every file.
	Styles []string
}

// An Editor edits the notices of files as its Options say. Its methods may be
// called concurrently.
type Editor struct {
	o         Options
	tmpl      *template.Template // nil if Options.Text is empty
	old       *template.Template // nil if Options.Old is empty
	languages *matcher
}

// New returns an Editor. The error is about the first wrong setting; for it
// errors.Is(err, fs.ErrInvalid) holds.
func New(o Options) (*Editor, error) {
	o.Action = cmp.Or(o.Action, Check)
	if err := o.check(); err != nil {
		return nil, err
	}
	e := &Editor{o: o}
	var err error
	if e.tmpl, err = parseText("notice: Options.Text", o.Text); err != nil {
		return nil, err
	}
	if e.old, err = parseText("notice: Options.Old", o.Old); err != nil {
		return nil, err
	}
	if e.languages, err = newMatcher(o.Styles); err != nil {
		return nil, err
	}
	return e, nil
}

func (o *Options) check() error {
	wantText := ""
	switch {
	case !slices.Contains([]Action{Check, Insert, Replace, Remove}, o.Action):
		return setting.Wrong("notice: Options.Action", string(o.Action), `"check", "insert", "replace" or "remove"`)
	case o.Text != "":
	case o.Action == Insert || o.Action == Replace:
		wantText = "the text of the notice"
	case o.Action == Remove && len(o.Markers) == 0:
		wantText = "the text of the notice, or Markers"
	case o.Exact:
		wantText = "the text of the notice, which Exact needs"
	}
	if wantText != "" {
		return setting.Wrong("notice: Options.Text", "", "%s", wantText)
	}
	for _, m := range o.Markers {
		if strings.TrimSpace(m) == "" {
			return setting.Wrong("notice: Options.Markers", m, "a word: every comment contains this one")
		}
	}
	return nil
}

// parseText parses the setting name, the text of a notice; "" is no text.
func parseText(name, text string) (*template.Template, error) {
	if text == "" {
		return nil, nil
	}
	wrong := func(want string, args ...any) (*template.Template, error) {
		const most = 60
		got := strconv.Quote(text)
		if len(text) > most {
			got = strconv.Quote(text[:most]) + "..."
		}
		return nil, setting.Wrong(name, setting.Text(got), want, args...)
	}
	lf := strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsAny(lf, "\x00\r") {
		return wrong("no NUL and no carriage return without a line feed")
	}
	t, err := template.New("text").Parse(lf)
	var lines []string
	if err == nil {
		lines, err = textLines(t, "name", "2000")
	}
	if err != nil {
		return wrong("a template of {{.Year}} and {{.File}}: %v", err)
	}
	if strings.TrimSpace(strings.Join(lines, "")) == "" {
		return wrong("a text that is not empty")
	}
	return t, nil
}

// textLines executes the template for the file name, and drops the empty lines
// around the text.
func textLines(t *template.Template, name, year string) ([]string, error) {
	var b strings.Builder
	err := t.Execute(&b, struct{ File, Year string }{filepath.Base(name), year})
	if err != nil {
		return nil, err
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, nil
}
