package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header/notice"
)

const headerUsage = `Usage: stele header VERB [flags] PATH...

Puts a header, as a licence or a notice, at the head of many source files, in
the comments of each file's language, and changes, checks and removes it.

  insert    puts it where none is
  replace   puts it in the place of an older one, or where none is
  remove    takes it out; after insert, each byte is as before
  check     lists the files without; writes nothing
  recover   ends what a crash or a kill interrupted: changes in place (--raw) are
            finished or taken back, and temporary files left behind are removed,
            from every folder that is looked into
  styles    lists the comment styles and the file names they belong to

PATH is a file, a folder or a glob in quotes ('src/**/*.go'). Folders of
--skip-dir are not walked. Symbolic links, binary files, files of unknown type
and generated files are left out; -v tells which, and why. On Linux a folder
below PATH in whose place somebody puts a link meanwhile is not followed either.

The text is a Go template; {{.Year}} is --year, {{.File}} the name of the file.
The header stands first but for what must: a byte order mark, "#!", <?xml, a
doctype, <?php, encodings, parser directives, front matter. It ends its lines as
the file does, and an empty line follows.

A file has the header when a comment at its head has the same text, whatever its
years, line breaks and kind of comment, or that of --old, or a --marker: in a
notice or in a comment that an empty line keeps from the code. Without --marker,
files with another notice (SPDX-License-Identifier, "Copyright" at the beginning
of a line or with a year, the name of a known licence) are left as they are:
insert and check take them for done, replace and remove say so. --marker says
what belongs to you; then only that counts. The comment with it is replaced, or
removed, whole: look at --dry-run --diff first.

What is written is replaced file by file: a reader, and a crash, sees the old
file or the new one. Files are written in groups that share their syncs. Ctrl-C
ends after the files under way. A file that another process keeps locked
(flock(2) needs no more than the right to read it) fails after --lock-timeout;
the others are done. After a kill, recover on the same PATHs removes what is
left. 'stele header VERB --help' lists the flags.

With --raw, insert, replace and remove work on bytes instead: what is given is
put before the first byte of each PATH, as it is, and recorded, so that replace
and remove find it. --mode inplace keeps the file the same file and, with
--pad or --reserve, moves none of its content.

Examples:
  stele header insert --text 'Copyright {{.Year}} ACME' --text 'SPDX-License-Identifier: MIT' .
  stele header check .
  stele header replace --old 'Copyright 2023 ACME' --text 'Copyright {{.Year}} Bar' src
  stele header replace --text 'Copyright {{.Year}} ACME Ltd' --marker ACME --dry-run --diff src
  stele header remove --marker ACME 'src/**/*.go'
  stele header insert --raw --text v1 --pad newline data.log
  stele header recover .
  stele header styles

Exit codes: 0 done, or all have it; 1 check found files without, or a file
failed; 2 wrong call, nothing was done; 130 interrupted.
`

func headerCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	switch v := notice.Verb(verb); v {
	case notice.Insert, notice.Replace, notice.Remove, notice.Check:
		return headerComments(ctx, v, args, stdin, stdout, stderr)
	}
	switch verb {
	case "recover":
		return headerRecover(ctx, args, stdout, stderr)
	case "styles":
		return headerStyles(args, stdout, stderr)
	}
	f := newFlags("header", headerUsage)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	err := errors.New("want a verb: insert, replace, remove, check, recover or styles")
	if verb != "" {
		err = fmt.Errorf("there is no verb %q: want insert, replace, remove, check, recover or styles", verb)
	}
	return usageError(stderr, "header", exitUsage, err)
}

// headerFlags are what insert, replace, remove and check are called with.
type headerFlags struct {
	verb      notice.Verb
	text      []string
	file      string
	old       []string
	styles    []string
	year      string
	markers   []string
	keepYears bool
	exact     bool
	generated bool
	fileChoice
	dryRun, diff bool
	json         string
	verbose      bool
	progress     string
	level        string
	workers      int
	keepTimes    bool
	lockWait     time.Duration
	raw          bool
	rawFlags
}

func (h *headerFlags) writes() bool { return h.verb != notice.Check }

func (h *headerFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&h.text, "text", nil, "the text, one `LINE` of it; may be repeated")
	f.StringVar(&h.file, "file", "", "the text is in this `FILE`; - is standard input")
	f.StringVar(&h.year, "year", "", "what {{.Year}} is (default this year)")
	f.StringArrayVar(&h.markers, "marker", nil, "a comment at the head with this `WORD` is the header, too; may be repeated")
	f.StringArrayVar(&h.styles, "style", nil, "comments to write: '#', '/* */', or none for the text as it is; `[NAME=]STYLE` for one extension (.x) or file name; may be repeated")
	f.BoolVar(&h.generated, "generated", false, "do not leave out generated files")
	if h.verb == notice.Replace {
		f.StringArrayVar(&h.old, "old", nil, "a comment at the head with just this text, whatever its years, is the header, too; one `LINE` of it; may be repeated")
		f.BoolVar(&h.keepYears, "keep-years", false, "{{.Year}} is what the header that is replaced says")
	}
	if h.verb == notice.Check {
		f.BoolVar(&h.exact, "exact", false, "only the text will do, no other notice and no marker")
	}
	h.fileChoice.flags(f)
	if h.writes() {
		f.BoolVar(&h.dryRun, "dry-run", false, "write nothing, say what would be done")
		f.BoolVar(&h.diff, "diff", false, "print the changes as a patch; the rest goes to standard error")
	}
	f.StringVar(&h.json, "json", "", "write what became of each file as JSON to `FILE` instead; - is standard output")
	f.BoolVarP(&h.verbose, "verbose", "v", false, "list the files that need nothing and those left out, too")
	f.StringVar(&h.progress, "progress", "auto", "on standard error: "+strings.Join(progressModes, ", "))
	f.IntVar(&h.workers, "workers", 0, "files worked on at once (default one for each processor)")
	if h.writes() {
		f.StringVar(&h.level, "level", "power", "what the changes survive: power (a power cut) or kill (kill -9)")
		f.BoolVar(&h.keepTimes, "keep-times", false, "leave the times of the files as they are")
		lockFlag(f, &h.lockWait)
		f.BoolVar(&h.raw, "raw", false, "put the bytes of the text there as they are, and record them; see above")
		h.rawFlags.flags(f, h.verb)
	}
}

func headerComments(ctx context.Context, verb notice.Verb, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	h := headerFlags{verb: verb}
	f := newFlags("header "+string(verb), headerUsage)
	h.flags(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	level, err := h.check(f)
	if err == nil && h.raw {
		return h.runRaw(ctx, f.Args(), level, stdin, stdout, stderr)
	}
	var p *notice.Plan
	if err == nil {
		p, err = h.plan(stdin)
	}
	var files []found
	var within *confinement
	if err == nil {
		files, err = h.collect(ctx, f.Args())
	}
	if err == nil {
		within, err = confine(files)
		defer within.close()
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "stele header: interrupted; nothing was done")
		return exitInterrupted
	}
	tell, end := func(int, int, string) {}, func() {}
	if err == nil {
		tell, end, err = newFileProgress(h.progress, stderr)
	}
	if err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	r := headerRun{plan: p, within: within, write: h.writes() && !h.dryRun, diff: h.diff, tell: tell}
	r.options.Level, r.options.KeepTimes, r.options.Workers = level, h.keepTimes, h.workers
	r.options.LockWait = h.lockWait
	outcomes := r.run(ctx, files)
	end()
	return h.report(ctx, outcomes, level, stdout, stderr)
}

// check refuses what could only fail later, before anything is read.
func (h *headerFlags) check(f *pflag.FlagSet) (level durability.Level, err error) {
	switch {
	case f.NArg() == 0:
		return level, errors.New("want at least one PATH; . is this folder")
	case len(h.text) > 0 && h.file != "":
		return level, errors.New("--text and --file are two texts; give one")
	case h.workers < 0:
		return level, fmt.Errorf("--workers %d: want 1 or more", h.workers)
	case h.lockWait < 0:
		return level, fmt.Errorf("--lock-timeout %v: want 0 or more", h.lockWait)
	}
	if _, err := (&outputs{json: h.json}).check(); err != nil {
		return level, err
	}
	given := len(h.text) > 0 || h.file != ""
	if h.raw || !given {
		err = h.checkText(f, given)
	}
	if err == nil && !h.raw {
		f.Visit(func(fl *pflag.Flag) {
			if h.rawFlags.has(fl.Name) {
				err = fmt.Errorf("--%s goes with --raw", fl.Name)
			}
		})
	}
	for _, m := range h.markers {
		if strings.TrimSpace(m) == "" {
			return level, errors.New("--marker is empty: every comment would be a header")
		}
	}
	switch h.level {
	case "power", "":
	case "kill":
		level = durability.Kill
	default:
		return level, fmt.Errorf("--level %s: want power or kill", h.level)
	}
	return level, err
}

// checkText is about calls with --raw, or without a text.
func (h *headerFlags) checkText(f *pflag.FlagSet, given bool) error {
	if h.raw {
		return h.checkRaw(f, given)
	}
	switch {
	case h.verb == notice.Insert || h.verb == notice.Replace:
		return errors.New("want the text of the header: --text or --file")
	case h.verb == notice.Remove && len(h.markers) == 0:
		return errors.New("want what to remove: the text (--text or --file) or a --marker")
	case h.exact:
		return errors.New("--exact needs the text: --text or --file")
	}
	return nil
}

// readText returns the text of --text or --file.
func (h *headerFlags) readText(stdin io.Reader) (string, error) {
	switch h.file {
	case "":
		return strings.Join(h.text, "\n"), nil
	case "-":
		return readMost(stdin, "--file -")
	}
	f, err := os.Open(h.file)
	if err != nil {
		return "", fmt.Errorf("--file: %w", err)
	}
	defer f.Close()
	return readMost(f, "--file")
}

// textMost is how long a header may be, in bytes: what is longer is a mistake,
// as a --file that never ends.
const textMost = 16 << 20

func readMost(r io.Reader, flag string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, textMost+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", flag, err)
	case len(data) > textMost:
		return "", fmt.Errorf("%s: a header of more than %d MiB", flag, textMost>>20)
	}
	return string(data), nil
}

func (h *headerFlags) plan(stdin io.Reader) (*notice.Plan, error) {
	text, err := h.readText(stdin)
	if err != nil {
		return nil, err
	}
	if text == "" && (len(h.text) > 0 || h.file != "") {
		return nil, errors.New("the text of the header is empty")
	}
	return notice.New(notice.Options{Verb: h.verb, Text: text, Old: strings.Join(h.old, "\n"), Year: cmp.Or(h.year, strconv.Itoa(time.Now().Year())),
		KeepYears: h.keepYears, Markers: h.markers, Exact: h.exact, Generated: h.generated, Styles: h.styles})
}

// report prints the outcomes and returns the exit code.
func (h *headerFlags) report(ctx context.Context, files []outcome, level durability.Level, stdout, stderr io.Writer) int {
	r := headerReport{Schema: headerSchema, Verb: h.verb, Raw: h.raw, DryRun: h.dryRun,
		Interrupted: ctx.Err() != nil, Files: files, Summary: summarize(files)}
	if h.writes() && !h.raw {
		r.Promise = &durability.Promise{Level: level, After: durability.OldOrNew}
	}
	var err error
	switch {
	case h.json != "":
		err = writeFile(h.json, stdout, func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(r)
		})
	case h.diff:
		for _, f := range files {
			io.WriteString(stdout, f.Diff)
		}
		err = r.text(stderr, h.verbose)
	default:
		err = r.text(stdout, h.verbose)
	}
	for _, f := range files {
		if f.State == stateFailed {
			fmt.Fprintf(stderr, "stele header: %s\n", f.Error)
		}
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "stele header:", err)
		return exitFailed
	case r.Interrupted && (r.Summary[string(stateNotBegun)] > 0 || slices.ContainsFunc(files, func(f outcome) bool { return f.interrupted })):
		fmt.Fprintf(stderr, "stele header: interrupted; %s not begun\n", countFiles(r.Summary[string(stateNotBegun)]))
		return exitInterrupted
	case r.Summary[string(stateFailed)] > 0, h.verb == notice.Check && r.Summary[string(notice.Missing)] > 0:
		return exitFailed
	}
	return exitOK
}

func headerStyles(args []string, stdout, stderr io.Writer) int {
	f := newFlags("header styles", headerUsage)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if f.NArg() > 0 {
		return usageError(stderr, f.Name(), exitUsage, fmt.Errorf("takes no arguments, got %q", f.Args()))
	}
	for _, s := range notice.Styles() {
		fmt.Fprintf(stdout, "%-14s %s\n", s.Comment, strings.Join(s.Names, " "))
	}
	fmt.Fprintln(stdout, "Before them, .in .dist .example .sample are taken off; without an extension, the #! line tells.")
	return exitOK
}
