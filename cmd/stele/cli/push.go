package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/logtime"
	"github.com/stele-go/stele/internal/setting"
)

const pushUsage = `Usage: stele push FILE... [flags]

Sends the lines of files to the server at --addr, stele serve or Loki. A FILE is a name,
a pattern such as '/var/log/*.log', or - for standard input; one that is compressed by gzip,
zstd or bzip2 is sent as its text. app.log.1 or app.log-20270115.gz beside app.log is an older
file of app.log: so 'app.log*' sends each line once, also when they get other names. Each line gets the labels of --label and, if it is of a file, the
label filename, unless one of them has that name.

With --follow it goes on with the lines that come, until SIGTERM or Ctrl-C, through
rotation (a file is renamed and a new one made), copytruncate and truncation; a pattern
also finds files that are made later. Each line is sent once, also if stele push or the
server is killed: stele serve keeps with the lines of a file how far it was sent, and a
bookmark on this machine tells which file that was. So stele push FILE again sends what
is new in FILE. To Loki, which keeps no such place, some lines are sent twice after stele push
was killed; it drops those whose time is the same too.

A file that is followed takes two descriptors and about 30 KiB of memory.

A line has the time of its reading, or with --time the one that it names, in one of these
formats: auto finds the usual ones; iso is 2027-01-15T08:00:00Z and the like, clf that of web
servers, syslog Jan 15 08:00:00, unix a number since 1970; other texts are layouts of Go's
package time, of which one without a date is of today or yesterday. A line without a time has
that of the line before it; so has one that begins with blanks, as those of a stack trace do,
unless its time is right behind them (auto, iso, clf and syslog).

A server that cannot take lines for now is tried again, at growing intervals, as it asks
for. Lines that it refuses for good are counted; the others are kept. A server that cannot be
reached at the start is an error at once, without --follow and --give-up.

It exits with 0 if all lines are acknowledged, and with 1 if some are not. At SIGTERM or Ctrl-C
the lines that were read from standard input are still sent, if the server takes them within
5 seconds; it exits with 130 then, as there may have been more, and with 1 if not.

Examples:
  stele push app.log --label app=shop
  stele push 'app*.log' --label app=shop --time auto --dry-run
  stele push app.log --label app=shop --follow
  stele push - --label app=shop --time iso --dry-run -o json
`

// pushFlags are the flags of stele push.
type pushFlags struct {
	clientFlags
	labels         []string
	time, timeZone string
	bookmarks      string
	machine        string
	output, color  string
	progress       string

	follow, fromEnd, again, dryRun bool

	giveUp           time.Duration
	maxLine, batch   string
	lineMax, batches int64

	parser *logtime.Parser
}

func pushCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele push", pushUsage)
	var p pushFlags
	p.serverFlags(f)
	f.StringVar(&p.data, "data", "", "")
	_ = f.MarkHidden("data") // it is there for its error
	f.DurationVar(&p.timeout, "timeout", time.Minute, "longest `TIME` of one request, which is tried again then; 0 means no limit")
	f.StringArrayVarP(&p.labels, "label", "l", nil, "a label `NAME=VALUE` of all lines; may be given several times")
	f.BoolVarP(&p.follow, "follow", "f", false, "go on with lines that come")
	f.BoolVar(&p.fromEnd, "from-end", false, "of a file that was never sent: only the lines that come; needs --follow")
	f.BoolVar(&p.again, "again", false, "send the files from their begin, whatever was sent before")
	f.StringVar(&p.time, "time", "", "take the time of lines from their text: `FORMAT` auto, iso, clf, syslog, unix or a layout")
	f.StringVar(&p.timeZone, "time-zone", "Local", "the `ZONE` of times that name none, such as UTC or Europe/Berlin")
	f.StringVar(&p.bookmarks, "bookmarks", "", "directory of the bookmarks, `DIR` (default $XDG_STATE_HOME/stele/bookmarks, or ~/.local/state/stele/bookmarks)")
	f.StringVar(&p.machine, "machine", "", "the `NAME` of this machine in bookmarks (default /etc/machine-id, or the host's name)")
	f.StringVar(&p.batch, "batch", "1MiB", "most text of a request: `SIZE` up to 3MiB")
	f.StringVar(&p.maxLine, "max-line", "256KiB", "longer lines are cut into pieces of `SIZE`")
	f.DurationVar(&p.giveUp, "give-up", 0, "give up if the server takes nothing for `TIME`; 0 is never with --follow, and else 5m")
	f.BoolVar(&p.dryRun, "dry-run", false, "print the lines that would be sent, and send nothing")
	f.StringVarP(&p.output, "output", "o", "text", "`FORMAT` of --dry-run: text, raw, json or csv")
	progressFlag(f, &p.progress)
	color := colorFlag(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	p.color = *color
	if err := p.check(f.Args()); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	return p.run(ctx, f.Args(), stdin, stdout, stderr)
}

// check checks the flags and completes them.
func (p *pushFlags) check(files []string) (err error) {
	if len(files) == 0 {
		return setting.Wrong("FILE...", setting.Text("0 arguments"), "1 or more")
	}
	if p.f.Changed("data") {
		return setting.Wrong("--data", p.data, "no such flag with stele push, which sends to a server: start stele serve --data %s", p.data)
	}
	if err := checkPatterns(files); err != nil {
		return err
	}
	zone, err := time.LoadLocation(p.timeZone)
	if err != nil {
		return setting.Wrong("--time-zone", p.timeZone, "a zone such as Local, UTC or Europe/Berlin")
	}
	if p.time != "" {
		if p.parser, err = logtime.New(p.time, zone); err != nil {
			return asFlag(err, map[string]string{"logtime: format": "--time"})
		}
	}
	if p.batches, err = sizeFlag("--batch", p.batch); err != nil {
		return err
	}
	if p.lineMax, err = sizeFlag("--max-line", p.maxLine); err != nil {
		return err
	}
	if p.giveUp == 0 && !p.follow {
		p.giveUp = 5 * time.Minute
	}
	if p.bookmarks == "" {
		p.bookmarks = bookmarksDir()
	}
	if p.machine == "" {
		p.machine = machineName()
	}
	if p.fromEnd && !p.follow {
		return errors.New("--from-end: want --follow with it")
	}
	if p.follow && p.dryRun {
		return errors.New("--dry-run: want it without --follow")
	}
	return cmp.Or(
		setting.InRange("--batch", p.batches, 1, 3<<20),
		setting.InRange("--max-line", p.lineMax, 64, 1<<20),
		setting.AtLeast("--give-up", p.giveUp, 0),
		p.checkTimeout(),
		oneOf("--output", p.output, "text", "raw", "json", "csv"),
		p.checkLabels(files),
	)
}

func (p *pushFlags) checkLabels(files []string) error {
	for _, l := range p.labels {
		name, _, ok := strings.Cut(l, "=")
		if !ok || !isLabelName(name) {
			return setting.Wrong("--label", l, "NAME=VALUE, with a name of letters, digits and underscores")
		}
	}
	for _, f := range files {
		if f == "-" && len(p.labels) == 0 {
			return errors.New("--label: none; want one at least for the lines of standard input")
		}
	}
	return nil
}

func isLabelName(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// labelsOf returns the labels of the lines of a file, or of standard input if path is "".
func (p *pushFlags) labelsOf(path string) map[string]string {
	labels := map[string]string{}
	if path != "" {
		labels["filename"] = path
	}
	for _, l := range p.labels {
		name, value, _ := strings.Cut(l, "=")
		labels[name] = value
	}
	return labels
}

// bookmarksDir is the directory of bookmarks of this user.
func bookmarksDir() string {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "stele-bookmarks"
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "stele", "bookmarks")
}

// machineName tells this machine from others.
func machineName() string {
	if data, err := os.ReadFile("/etc/machine-id"); err == nil && len(strings.TrimSpace(string(data))) >= 16 {
		return strings.TrimSpace(string(data))[:16]
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}

// pushTotals are what a push has done.
type pushTotals struct {
	Event   string `json:"event"`
	Files   int    `json:"files"`
	Lines   int64  `json:"lines"`
	Bytes   int64  `json:"bytes"`
	Of      int64  `json:"of_bytes,omitempty"` // of the files when it began
	Refused int64  `json:"refused"`
	Gaps    int64  `json:"gaps"` // how often lines of a file may be missing

	begun time.Time
}

func (t *pushTotals) describe() string {
	text := fmt.Sprintf("%s, %s", lineCount(t.Lines), decimalSize(t.Bytes))
	if s := time.Since(t.begun).Seconds(); s > 1 {
		text += fmt.Sprintf(", %s a second", decimalSize(int64(float64(t.Bytes)/s)))
	}
	if t.Refused > 0 {
		text += fmt.Sprintf(", %s refused", grouped(t.Refused))
	}
	if t.Gaps > 0 {
		text += fmt.Sprintf(", gaps: %s", grouped(t.Gaps))
	}
	return text
}

// bar is describe beside how much of the files that is, while it goes on.
func (t *pushTotals) bar() string {
	if t.Of == 0 || t.Bytes > t.Of {
		return t.describe()
	}
	const cells = 20
	done := int(cells * t.Bytes / t.Of)
	return fmt.Sprintf("[%s%s] %3d %% of %s: %s", strings.Repeat("=", done), strings.Repeat(" ", cells-done), 100*t.Bytes/t.Of, decimalSize(t.Of), t.describe())
}

// grouped returns a number with a comma at each thousand.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func lineCount(n int64) string {
	if n == 1 {
		return "1 line"
	}
	return grouped(n) + " lines"
}
