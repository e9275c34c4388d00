package logs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// corpusFormats has lines of real logs, each of which gives a file of corpusLines lines,
// with a number in place of %d, the same one in two lines. layout is that of the time.
var corpusFormats = []struct{ name, line, layout, level string }{
	{"phone", "03-17 16:13:38.811  1702  2395 W WindowManager: window %d token=Token{a64f9%d}", "01-02 15:04:05.000", "warn"},
	{"httpd", "[Sun Dec 04 04:47:44 2005] [error] mod_jk child %d in state 6", "[Mon Jan _2 15:04:05 2006]", "error"},
	{"blocks", "081109 203615 148 INFO dfs.DataNode: block blk_-38865049064139%d of size 67108864 from /10.251.73.20", "060102 150405", "info"},
	{"jobs", "2015-10-18 18:01:47,978 INFO [main] org.apache.MRAppMaster: attempt_1445144423722_0020_%d", "2006-01-02 15:04:05,000", "info"},
	{"old", "Jun  4 15:16:01 combo ftpd[%d]: connection from 210.245.165.136 () at Sat Jun  4 15:16:01 2005 ", "Jan _2 15:04:05", "info"},
	{"cloud", "2017-05-16 00:00:00.008 25746 WARNING nova [req-38101a0b-2096-447d-96ea-%d] status: 200", "2006-01-02 15:04:05.000", "warn"},
	{"tasks", "17/06/09 20:10:40 DEBUG executor.Executor: Running task 1.0 (TID %d)", "06/01/02 15:04:05", "debug"},
	{"proxy", `203.0.113.9 - - [10/Oct/2000:13:55:36 +0000] "GET /%d HTTP/1.1" 200 2326`, "02/Jan/2006:15:04:05", "info"},
	{"modern", "2026-11-21T11:44:34.123456789Z level=error id=%d", "2006-01-02T15:04:05.000000000Z", "error"},
}

const corpusLines = 120

// writeCorpus makes a corpus of corpusFormats, and returns its directory.
func writeCorpus(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range corpusFormats {
		var text strings.Builder
		for i := range corpusLines {
			text.WriteString(strings.ReplaceAll(f.line, "%d", fmt.Sprint(1100+i/2*7)) + "\r\n")
		}
		if err := os.WriteFile(filepath.Join(dir, f.name+"_2k.log"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCorpusLines(t *testing.T) {
	l := mustLogLines(t, 1, writeCorpus(t))
	if len(l.streams) != len(corpusFormats)*logHosts {
		t.Fatalf("%d streams", len(l.streams))
	}
	digits := regexp.MustCompile(`[0-9a-f]`)
	shape := func(s string) string { return digits.ReplaceAllString(s, "0") }
	var e Line
	for range 20_000 {
		l.Next(&e)
		for _, f := range corpusFormats {
			if f.name != e.App {
				continue
			}
			if e.Level != f.level {
				t.Fatalf("a line of level %s: %s", e.Level, e.Line)
			}
			want := time.Unix(0, e.Time).UTC().Format(f.layout)
			if !bytes.Contains(e.Line, []byte(want)) {
				t.Fatalf("no %q in %q", want, e.Line)
			}
		}
		switch e.App { // numbers that are constant, or keep their form
		case "blocks":
			if !bytes.Contains(e.Line, []byte(" 148 INFO ")) || !bytes.Contains(e.Line, []byte(" of size 67108864 from /10.251.73.20")) ||
				shape(string(e.Line[14:])) != shape("148 INFO dfs.DataNode: block blk_-388650490641391100 of size 67108864 from /10.251.73.20") {
				t.Fatalf("it became %q", e.Line)
			}
		case "old":
			if want := time.Unix(0, e.Time).UTC().Format("Mon Jan _2 15:04:05 2006"); !bytes.Contains(e.Line, []byte("() at "+want)) {
				t.Fatalf("the second time is not %s: %s", want, e.Line)
			}
		}
	}
}

// A number is the same in nearby lines, and differs in the next round and on another host.
// Different numbers stay different.
func TestCorpusNumbersChange(t *testing.T) {
	l := mustLogLines(t, 1, writeCorpus(t))
	number := regexp.MustCompile(`TID (\d+)`)
	starts := make(map[string]int) // the line that each host begins with
	for i, h := range l.hosts {
		if l.systems[i/logHosts].name == "tasks" {
			starts[h.name] = h.next
		}
	}
	byHost := make(map[string][]string)
	var e Line
	for range 200_000 {
		l.Next(&e)
		if e.App == "tasks" {
			byHost[e.Host] = append(byHost[e.Host], string(number.FindSubmatch(e.Line)[1]))
		}
	}
	first := make(map[string]int)
	for host, numbers := range byHost {
		if len(numbers) < 3*corpusLines {
			t.Fatalf("%s has only %d lines", host, len(numbers))
		}
		start := corpusLines - starts[host] // where the second round begins
		round := numbers[start : start+corpusLines]
		distinct := make(map[string]bool)
		for i := 0; i < corpusLines; i += 2 {
			if round[i] != round[i+1] {
				t.Errorf("%s: %s and %s were one number", host, round[i], round[i+1])
			}
			distinct[round[i]] = true
		}
		if len(distinct) != corpusLines/2 {
			t.Errorf("%s: %d numbers became %d", host, corpusLines/2, len(distinct))
		}
		first[round[0]]++
		if round[0] == numbers[start+corpusLines] {
			t.Errorf("%s: the next time around %s is the same", host, round[0])
		}
	}
	for n, hosts := range first {
		if hosts > 3 {
			t.Errorf("%s is on %d hosts", n, hosts)
		}
	}
}

func TestCorpusNumbersFound(t *testing.T) {
	for line, want := range map[string]string{
		"a 12 b 123 c":                      "d:123",
		"part-00012 part-00123":             "d:123",
		"blk_-38865049 task_0003_m_000122":  "d:38865049 d:122",
		"b9000564-fe1a-409b-b8cc-1e88b294c": "h:b9000564 h:fe1a h:409b h:b8cc h:1e88b294c",
		"wksummary=0x23 at 0xDEAD1 0xabc":   "h:DEAD1",
		"added face bad dead":               "",
		"10.251.73.220:50010 and 1.2.3.4.":  "i:10.251.73.220 d:50010 i:1.2.3.4",
		"t761 x1 ssh2 v12345x":              "d:761 d:12345",
		"0.2477829":                         "d:2477829",
		"":                                  "",
	} {
		var got []string
		eachNumber([]byte(line), func(kind logKind, from, to int) {
			got = append(got, map[logKind]string{logShiftDigits: "d:", logShiftHex: "h:", logShiftIP: "i:"}[kind]+line[from:to])
		})
		if strings.Join(got, " ") != want {
			t.Errorf("in %q are %q, want %q", line, got, want)
		}
	}
}

// Shifting keeps the form of a number, and keeps different numbers different.
func TestCorpusShifts(t *testing.T) {
	rng := rand.NewPCG(1, 2)
	for range 10 {
		var h logHost
		h.renew(rng)
		for _, c := range []struct {
			shift   func(dst, s []byte) []byte
			form    *regexp.Regexp
			numbers func(i int) string
		}{
			{h.shiftDigits, regexp.MustCompile(`^[1-9]\d\d$`), func(i int) string { return fmt.Sprint(100 + i%900) }},
			{h.shiftHex, regexp.MustCompile(`^[0-9a-f]{3}$`), func(i int) string { return fmt.Sprintf("%03x", i) }},
			{h.shiftHex, regexp.MustCompile(`^[0-9A-F]{3}$`), func(i int) string { return fmt.Sprintf("%03X", 0xa00+i%0x600) }},
			{h.shiftIP, regexp.MustCompile(`^10\.20\.(\d{1,2}|1\d\d|2[0-4]\d|25[0-5])\.(\d{1,2}|1\d\d|2[0-4]\d|25[0-5])$`),
				func(i int) string { return fmt.Sprintf("10.20.%d.%d", i%256, i/256) }},
		} {
			of := make(map[string]string)
			for i := range 4096 {
				n := c.numbers(i)
				got := string(c.shift(nil, []byte(n)))
				if !c.form.MatchString(got) {
					t.Fatalf("%s became %s", n, got)
				}
				if other, ok := of[got]; ok && other != n {
					t.Fatalf("%s and %s became %s", n, other, got)
				}
				of[got] = n
			}
		}
	}
}

func TestLevelOf(t *testing.T) {
	for line, want := range map[string]int{
		"03-17 16:13:38.811  1702  2395 D WindowManager: error":                         logDebug,
		"03-17 16:13:38.811  1702  2395 V WindowManager: x":                             logDebug,
		"03-17 16:13:38.811  1702  2395 E WindowManager: x":                             logError,
		"081109 203615 148 INFO dfs.DataNode: an error":                                 logInfo,
		"2015-10-18 18:01:47,978 WARN [main] x: INFO":                                   logWarn,
		"2015-10-18 18:01:47,978 FATAL [main] x":                                        logError,
		"[Sun Dec 04 04:47:44 2005] [notice] x":                                         logInfo,
		"Dec 10 06:55:46 LabSZ sshd[24200]: Failed password for root":                   logWarn,
		"Dec 10 06:55:46 LabSZ sshd[24200]: x failed - POSSIBLE BREAK-IN ATTEMPT!":      logError,
		"Jun 14 15:16:01 combo sshd(pam_unix)[19939]: session opened for user informer": logInfo,
	} {
		if got := levelOf([]byte(line)); got != want {
			t.Errorf("%q has level %s, want %s", line, logLevels[got], logLevels[want])
		}
	}
}

func TestCorpusErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := newLines(1, Source{Corpus: dir}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory without logs: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.log"), []byte("\r\n\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := newLines(1, Source{Corpus: dir}); err == nil || !strings.Contains(err.Error(), "empty.log") {
		t.Errorf("a log without lines: %v", err)
	}
}
