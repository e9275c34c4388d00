package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header/notice"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
)

const headerUsage = `Usage: stele header VERB [flags] PATH...

Maintains a header, such as a licence or a copyright notice, in many source
files, in the comment style of each file.

  insert    inserts the header into files without one
  replace   replaces an older header, and inserts it into files without one
  remove    removes the header; after insert this restores every byte
  check     lists the files without a header, and writes nothing
  recover   after a crash or a kill: completes or undoes interrupted changes in
            place (--raw), and removes temporary files from every directory it visits
  styles    lists the comment styles and the names of the files that have them

PATH is a file, a directory or a quoted glob ('src/**/*.go'). Directories of
--skip-dir are not visited. Symbolic links, binary files, files of unknown type
and generated files are skipped; -v lists them with the reason. On Linux, a
symbolic link that replaces a directory below PATH meanwhile is not followed
either.

The text is a Go template: {{.Year}} is --year, {{.File}} the name of the file.
The header is the first thing in the file except for a byte order mark, "#!",
<?xml, a doctype, <?php, an encoding, parser directives and front matter. It
ends its lines as the file does, and an empty line follows it.

A comment before the first line of code is the header if it has the words of the
text, or of --old; years, line breaks and the comment style may differ. A
comment with a --marker is also the header if it is a legal notice, or if an
empty line separates it from the code. replace and remove take the whole comment:
try --dry-run --diff first. A legal notice has SPDX-License-Identifier,
"Copyright" at the beginning of a line or with a year, or the name of a known
licence. Without --marker, a file with another legal notice is left unchanged:
insert and check accept it, replace and remove list it.

Each file is replaced atomically: a reader, or a crash, finds the old file or the
new one. Files are written in groups that share their syncs. Ctrl-C stops after
the files in progress. A file that another process keeps locked fails after
--lock-timeout, and the others are written. flock(2) needs only the right to
read. After a kill, run recover on the same PATHs. 'stele header VERB --help'
lists the flags.

With --raw, insert, replace and remove work on bytes: the text goes before the
first byte of each PATH as it is, and is recorded, so that replace and remove
find it. --mode inplace keeps the inode and, with --pad or --reserve, moves no
content.

Examples:
  stele header insert --text 'Copyright {{.Year}} ACME' --text 'SPDX-License-Identifier: MIT' .
  stele header check .
  stele header replace --old 'Copyright 2023 ACME' --text 'Copyright {{.Year}} Bar' src
  stele header replace --text 'Copyright {{.Year}} ACME Ltd' --marker ACME --dry-run --diff src
  stele header remove --marker ACME 'src/**/*.go'
  stele header insert --raw --text v1 --pad newline data.log
  stele header recover .
  stele header styles

check exits with 1 if a file has no header. The other exit codes are those of
every command: see 'stele help'.
`

func headerCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	switch v := notice.Action(verb); v {
	case notice.Insert, notice.Replace, notice.Remove, notice.Check:
		return headerComments(ctx, v, args, stdin, stdout, stderr)
	}
	switch verb {
	case "recover":
		return headerRecover(ctx, args, stdout, stderr)
	case "styles":
		return headerStyles(args, stdout, stderr)
	}
	f := newFlags("stele header", headerUsage)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	return usageError(stderr, "stele header", exitUsage, oneOf("VERB", verb, "insert", "replace", "remove", "check", "recover", "styles"))
}

// headerFlags are the flags of insert, replace, remove and check.
type headerFlags struct {
	verb      notice.Action
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
	f.StringArrayVar(&h.text, "text", nil, "one `LINE` of the text; repeat it for more lines")
	f.StringVar(&h.file, "file", "", "read the text from this `FILE`; - is standard input")
	f.StringVar(&h.year, "year", "", "`YEAR` is the value of {{.Year}} (default the current year)")
	f.StringArrayVar(&h.markers, "marker", nil, "a comment with this `WORD` is also the header; may be repeated")
	f.StringArrayVar(&h.styles, "style", nil, "comment style to write: '#', '/* */', or none for the text as it is; `[NAME=]STYLE` for one extension (.x) or file name; may be repeated")
	f.BoolVar(&h.generated, "generated", false, "include generated files")
	if h.verb == notice.Replace {
		f.StringArrayVar(&h.old, "old", nil, "one `LINE` of an older text; a comment with its words is also the header, whatever its years; repeat it for more lines")
		f.BoolVar(&h.keepYears, "keep-years", false, "{{.Year}} is the years of the header that is replaced")
	}
	if h.verb == notice.Check {
		f.BoolVar(&h.exact, "exact", false, "accept only the text, no other notice and no marker")
	}
	h.fileChoice.flags(f)
	if h.writes() {
		f.BoolVar(&h.dryRun, "dry-run", false, "write nothing, list the changes")
		f.BoolVar(&h.diff, "diff", false, "print the changes as a patch, and the list on standard error")
	}
	f.StringVar(&h.json, "json", "", "write the result for each file as JSON to `FILE` instead; - is standard output")
	f.BoolVarP(&h.verbose, "verbose", "v", false, "also list unchanged and skipped files")
	progressFlag(f, &h.progress)
	f.IntVar(&h.workers, "workers", 0, "`NUMBER` of files edited concurrently (default the number of processors)")
	if h.writes() {
		f.StringVar(&h.level, "level", "power", "changes survive `LEVEL`: power (a power cut) or kill (kill -9)")
		f.BoolVar(&h.keepTimes, "keep-times", false, "keep the modification times of the files")
		lockFlag(f, &h.lockWait)
		f.BoolVar(&h.raw, "raw", false, "write the bytes of the text as they are, and record them; see above")
		h.rawFlags.flags(f, h.verb)
	}
}

func headerComments(ctx context.Context, verb notice.Action, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	h := headerFlags{verb: verb}
	f := newFlags("stele header "+string(verb), headerUsage)
	h.flags(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	level, err := h.check(f)
	if err == nil && h.raw {
		return h.runRaw(ctx, f.Args(), level, stdin, stdout, stderr)
	}
	var e *notice.Editor
	if err == nil {
		e, err = h.editor(stdin)
	}
	var files []entry
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
	var show *meter
	if err == nil {
		show, err = newMeter(h.progress, stderr)
	}
	if err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	r := headerRun{editor: e, within: within, write: h.writes() && !h.dryRun, diff: h.diff, tell: showFiles(show)}
	r.options.Level, r.options.KeepTimes, r.options.Workers = level, h.keepTimes, h.workers
	r.options.LockWait = h.lockWait
	outcomes := r.run(ctx, files)
	show.end()
	return h.report(ctx, outcomes, level, stdout, stderr)
}

// check refuses wrong flags before anything is read.
func (h *headerFlags) check(f *pflag.FlagSet) (level durability.Level, err error) {
	if len(h.text) > 0 && h.file != "" {
		return level, errors.New("--text and --file: two texts; want one of them")
	}
	_, err = checkOutputs(output{"--json", h.json})
	err = cmp.Or(argCount(f, "PATH", 1, math.MaxInt), setting.AtLeast("--workers", h.workers, 0), setting.AtLeast("--lock-timeout", h.lockWait, 0), err)
	if err != nil {
		return level, err
	}
	given := len(h.text) > 0 || h.file != ""
	if h.raw || !given {
		err = h.checkText(f, given)
	}
	if err == nil && !h.raw {
		f.Visit(func(fl *pflag.Flag) {
			if h.rawFlags.has(fl.Name) {
				err = fmt.Errorf("--%s: want --raw with it", fl.Name)
			}
		})
	}
	if h.level == "kill" {
		level = durability.Kill
	}
	if err == nil && h.level != "" {
		err = oneOf("--level", h.level, "power", "kill")
	}
	return level, err
}

// checkText checks calls with --raw, or without a text.
func (h *headerFlags) checkText(f *pflag.FlagSet, given bool) error {
	if h.raw {
		return h.checkRaw(f, given)
	}
	switch {
	case h.verb == notice.Insert || h.verb == notice.Replace:
		return errors.New("no text; want --text or --file")
	case h.verb == notice.Remove && len(h.markers) == 0:
		return errors.New("no header to remove; want the text (--text or --file) or --marker")
	case h.exact:
		return errors.New("--exact: no text; want --text or --file")
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

// textMost is the maximal length of a text, in bytes: a longer one is a mistake,
// such as a --file without an end.
const textMost = 16 << 20

func readMost(r io.Reader, flag string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, textMost+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", flag, err)
	case len(data) > textMost:
		return "", setting.Wrong(flag, setting.Text("more than "+units.Size(textMost)), "a text")
	}
	return string(data), nil
}

func (h *headerFlags) editor(stdin io.Reader) (*notice.Editor, error) {
	text, err := h.readText(stdin)
	if err != nil {
		return nil, err
	}
	if text == "" && (len(h.text) > 0 || h.file != "") {
		return nil, errors.New("the text is empty; want the text of the header")
	}
	textFlag := "--text"
	if h.file != "" {
		textFlag = "--file"
	}
	e, err := notice.New(notice.Options{Action: h.verb, Text: text, Old: strings.Join(h.old, "\n"), Year: cmp.Or(h.year, strconv.Itoa(time.Now().Year())),
		KeepYears: h.keepYears, Markers: h.markers, Exact: h.exact, Generated: h.generated, Styles: h.styles})
	return e, asFlag(err, map[string]string{
		"notice: Options.Text":    textFlag,
		"notice: Options.Old":     "--old",
		"notice: Options.Markers": "--marker",
		"notice: Options.Styles":  "--style",
	})
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
		err = writeJSON(h.json, stdout, r)
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
			complain(stderr, "stele header", errors.New(f.Error))
		}
	}
	switch {
	case err != nil:
		return failed(stderr, "stele header", err)
	case r.Interrupted && (r.Summary[string(stateNotBegun)] > 0 || slices.ContainsFunc(files, func(f outcome) bool { return f.interrupted })):
		fmt.Fprintf(stderr, "stele header: interrupted; %s not begun\n", countFiles(r.Summary[string(stateNotBegun)]))
		return exitInterrupted
	case r.Summary[string(stateFailed)] > 0, h.verb == notice.Check && r.Summary[string(notice.Missing)] > 0:
		return exitFailed
	}
	return exitOK
}

func headerStyles(args []string, stdout, stderr io.Writer) int {
	f := newFlags("stele header styles", headerUsage)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if err := argCount(f, "styles", 0, 0); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	for _, s := range notice.Styles() {
		fmt.Fprintf(stdout, "%-14s %s\n", s.Comment, strings.Join(s.Names, " "))
	}
	fmt.Fprintln(stdout, "The suffixes .in .dist .example .sample are ignored; the #! line gives the style of a file without an extension.")
	return exitOK
}
