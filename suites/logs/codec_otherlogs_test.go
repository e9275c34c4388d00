package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/hardlines"
	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/logstore"
)

var otherLogs = flag.String("logs", "", "TestCodecOtherLogs: directory of any log files, each a system; without it only lines that are hard to compress are measured")

// The bars of lines that the codec was not tuned on: bytes, as a share of what the first
// codec takes.
const (
	barOther     = 1.0  // each system
	barOtherMean = 0.6  // the mean of the shares
	barHard      = 1.05 // lines that fit no template
)

// hardBytes is how many bytes of each kind of hard lines are stored.
const hardBytes = 20_000_000

// TestCodecOtherLogs measures the codecs on the logs of a directory, which may be any: a time
// in a line is taken for that of the line where it is known, else the lines are a millisecond
// apart, as they are in the file.
//
//	STELE_LONG=1 go test ./suites/logs -run TestCodecOtherLogs -v -args -logs DIR
//
// Logs of a machine that make a good directory: journalctl -o short-iso-precise, /var/log,
// and what go build -x, go test -json and strace write.
func TestCodecOtherLogs(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes minutes; set STELE_LONG=1")
	}
	b := &codecBars{bars: &bars{dir: *barsDir}}
	if b.dir == "" {
		p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 4 << 30, Store: t.TempDir()})
		if err != nil {
			t.Skip(err)
		}
		defer p.Close()
		b.dir = p.Path
	}
	if *otherLogs != "" {
		t.Run("logs", b.otherLogs)
	}
	t.Run("hard", b.hard)
}

func (b *codecBars) otherLogs(t *testing.T) {
	entries, err := os.ReadDir(*otherLogs) // in order
	if err != nil {
		t.Fatal(err)
	}
	var rows []codecRow
	for _, e := range entries {
		if info, err := e.Info(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		rows = append(rows, b.row(t, strings.TrimSuffix(e.Name(), ".log"), codecJob{Part: "log", Log: filepath.Join(*otherLogs, e.Name())}))
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no files", *otherLogs)
	}
	showRows(t, rows)
	if mean := showShares(t, rows, barOther); mean > 0 {
		barAtMost(t, "the mean of all logs", mean, "times", barOtherMean)
	}
}

func (b *codecBars) hard(t *testing.T) {
	var rows []codecRow
	for _, k := range hardlines.Kinds() {
		rows = append(rows, b.row(t, k.Name, codecJob{Part: "hard", Hard: k.Name}))
	}
	showRows(t, rows)
	showShares(t, rows, barHard)
}

// showShares compares the share of each row with a bar, and returns their mean; 0 with one
// codec only.
func showShares(t *testing.T, rows []codecRow, limit float64) (mean float64) {
	t.Helper()
	if len(codecs) < 2 {
		return 0
	}
	for _, r := range rows {
		barAtMost(t, r.name+": bytes", r.share(), "times", limit)
		mean += r.share() / float64(len(rows))
	}
	return mean
}

func codecLogOf(job codecJob) (any, error) {
	text, err := os.ReadFile(job.Log)
	if err != nil {
		return nil, err
	}
	s := otherLines(strings.TrimSuffix(filepath.Base(job.Log), ".log"), text)
	if s.lines == 0 {
		return nil, fmt.Errorf("%s has no lines", job.Log)
	}
	return s.measure(context.Background(), job.Dir, job.Codec)
}

// otherLineMost is how long a line of other logs may be; longer ones are cut.
const otherLineMost = 256 << 10

// otherLines returns the lines of a text, each with the time that it begins with, or a
// millisecond after the one before.
func otherLines(name string, text []byte) *lineSet {
	s := newLineSet()
	labels := logstore.MustLabels("app", name)
	now := int64(logStart)
	for line := range bytes.Lines(text) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			continue
		}
		if at, ok := timeIn(line); ok {
			now = at
		} else {
			now += int64(time.Millisecond)
		}
		for len(line) > 0 {
			n := min(len(line), otherLineMost)
			s.add(labels, logstore.Entry{Time: now, Line: line[:n:n]})
			line = line[n:]
		}
	}
	return s
}

// timeIn returns the first time that the beginning of a line has, in one of the forms of
// corpora. One without a year is of logStart's.
func timeIn(line []byte) (ns int64, ok bool) {
	line = line[:min(len(line), 100)]
	at, end, layout := findTime(line, 0)
	if layout == "" {
		return 0, false
	}
	text := string(line[at:end])
	// The layouts of logClock in those of package time.
	form := strings.NewReplacer("Y", "2006", "y", "06", "m", "01", "b", "Jan", "d", "02", "_", "_2", "a", "Mon", "H", "15", "M", "04", "S", "05").Replace(layout)
	if i := strings.LastIndexAny(form, ".,"); i >= 0 {
		digits := int(form[i+1] - '0')
		form = form[:i] + form[i:i+1] + strings.Repeat("0", digits)
	}
	found, err := time.Parse(form, text)
	if err != nil {
		return 0, false
	}
	if found.Year() == 0 {
		found = found.AddDate(time.Unix(0, logStart).UTC().Year(), 0, 0)
	}
	return found.UnixNano(), true
}

func codecHardOf(job codecJob) (any, error) {
	for _, k := range hardlines.Kinds() {
		if k.Name != job.Hard {
			continue
		}
		s := newLineSet()
		labels := logstore.MustLabels("app", k.Name)
		next := k.Lines(1)
		for s.raw < hardBytes {
			s.add(labels, logstore.Entry{Time: logStart + s.lines*int64(time.Millisecond), Line: bytes.Clone(next())})
		}
		return s.measure(context.Background(), job.Dir, job.Codec)
	}
	return nil, errors.New("no such kind: " + job.Hard)
}

// Times of other logs are understood where corpora have such forms.
func TestOtherLines(t *testing.T) {
	for line, want := range map[string]string{
		"2026-03-04 05:06:07 status installed":           "2026-03-04T05:06:07Z",
		`{"Time":"2026-03-04T05:06:07.089Z","x":1}`:      "2026-03-04T05:06:07.089Z",
		"2026-03-04 05:06:07,089 INFO x":                 "2026-03-04T05:06:07.089Z",
		"Mar  4 05:06:07 host kernel: x":                 "2026-03-04T05:06:07Z",
		"[Wed Mar 04 05:06:07 2026] [notice] x":          "2026-03-04T05:06:07Z",
		"123 openat(AT_FDCWD, \"/x\", O_RDONLY) = 3":     "",
		strings.Repeat("x", 200) + "2026-03-04 05:06:07": "",
	} {
		ns, ok := timeIn([]byte(line))
		if got := time.Unix(0, ns).UTC().Format(time.RFC3339Nano); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v; want %q", line, got, ok, want)
		}
	}
	text := []byte("2026-03-04 05:06:07 a\r\nb\n\nlast " + strings.Repeat("x", otherLineMost))
	s := otherLines("x", text)
	var lines []string
	for _, e := range s.batches[0][0].Entries {
		lines = append(lines, string(e.Line[:min(len(e.Line), 5)]))
	}
	got, _ := json.Marshal(lines)
	if string(got) != `["2026-","b","last ","xxxxx"]` || s.lines != 4 {
		t.Errorf("%s", got)
	}
	if e := s.batches[0][0].Entries; e[1].Time != e[0].Time+1e6 {
		t.Errorf("%d after %d", e[1].Time, e[0].Time)
	}
}
