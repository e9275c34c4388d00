package logs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// logTimes has the forms of times that are recognised in a corpus, and the layouts in
// which logClock writes them anew. Those that stand only at the beginning of a line come
// first: no other can be found before them.
var logTimes = []struct {
	pattern *regexp.Regexp
	layout  string // # is as many digits of the fraction as there are
}{
	{regexp.MustCompile(`^\d\d-\d\d \d\d:\d\d:\d\d\.(\d{1,9})\b`), "m-d H:M:S.#"},
	{regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\b`), "b _ H:M:S"},
	{regexp.MustCompile(`^\d{6} \d{6}\b`), "ymd HMS"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.(\d{1,9})\b`), "Y-m-d H:M:S.#"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,(\d{1,9})\b`), "Y-m-d H:M:S,#"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{1,9})`), "Y-m-dTH:M:S.#"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\b`), "Y-m-dTH:M:S"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b`), "Y-m-d H:M:S"},
	{regexp.MustCompile(`\b\d\d/\d\d/\d\d \d\d:\d\d:\d\d\b`), "y/m/d H:M:S"},
	{regexp.MustCompile(`\b\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\b`), "Y/m/d H:M:S"},
	{regexp.MustCompile(`\b\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\b`), "d/b/Y:H:M:S"},
	{regexp.MustCompile(`\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\b`), "a b _ H:M:S Y"},
}

var logIPs = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)

// CorpusFiles lists the logs in a directory, the files *.log. It returns an error if
// there are none.
func CorpusFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // in order
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") && !e.IsDir() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file *.log", dir)
	}
	return files, nil
}

// addCorpus adds each file *.log of the directory as a system.
func (b *logBuilder) addCorpus(dir string) error {
	files, err := CorpusFiles(dir)
	if err != nil {
		return err
	}
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := b.addFile(systemName(f), i%2 == 0, text); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return nil
}

func (b *logBuilder) addFile(name string, millis bool, text []byte) error {
	s := logSystem{name: name, millis: millis}
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return errors.New("no lines")
	}
	constant := constants(lines)
	index := [len(logLevels)]int{-1, -1, -1, -1} // of each level, in s.levels
	for _, line := range lines {
		level := levelOf(line)
		if index[level] < 0 {
			index[level] = len(s.levels)
			s.levels = append(s.levels, logLevels[level])
		}
		s.levelOf = append(s.levelOf, uint8(index[level]))
		s.lines = append(s.lines, b.compile(line, constant))
	}
	b.systems = append(b.systems, s)
	b.weights = append(b.weights, 1)
	return nil
}

// constants returns the numbers that belong to the system, such as ports, sizes and
// states: those in more than one line of 50.
func constants(lines [][]byte) map[string]bool {
	count := make(map[string]int)
	for _, line := range lines {
		seen := make(map[string]bool)
		eachNumber(line, func(_ logKind, from, to int) {
			if n := string(line[from:to]); !seen[n] {
				seen[n] = true
				count[n]++
			}
		})
	}
	constant := make(map[string]bool)
	for n, times := range count {
		if times*50 > len(lines) {
			constant[n] = true
		}
	}
	return constant
}

// compile returns the template of a line, in which the times and all numbers but the
// constant ones are filled in.
func (b *logBuilder) compile(line []byte, constant map[string]bool) logTemplate {
	var parts logTemplate
	done := 0 // up to where parts reach
	add := func(kind logKind, from, to int, text string) {
		if from > done {
			parts = append(parts, b.part(logText, string(line[done:from])))
		}
		parts = append(parts, b.part(kind, text))
		done = to
	}
	numbers := func(to int) {
		from := done
		eachNumber(line[from:to], func(kind logKind, i, j int) {
			if n := string(line[from+i : from+j]); !constant[n] {
				add(kind, from+i, from+j, n)
			}
		})
	}
	for done < len(line) {
		at, end, layout := findTime(line, done)
		if layout == "" {
			break
		}
		numbers(at)
		add(logTime, at, end, layout)
	}
	numbers(len(line))
	if done < len(line) {
		parts = append(parts, b.part(logText, string(line[done:])))
	}
	return parts
}

// findTime returns the bounds and the layout of the first time in line at or after from.
// The layout is "" if there is no time.
func findTime(line []byte, from int) (at, end int, layout string) {
	at = len(line)
	clock := hasClock(line[from:]) // spares most of the work
	for _, t := range logTimes {
		if from > 0 && strings.HasPrefix(t.pattern.String(), "^") || !clock && strings.Contains(t.layout, ":") {
			continue
		}
		m := t.pattern.FindSubmatchIndex(line[from:])
		if m == nil || from+m[0] >= at {
			continue
		}
		at, end, layout = from+m[0], from+m[1], t.layout
		if len(m) > 2 {
			layout = strings.Replace(layout, "#", string(rune('0'+m[3]-m[2])), 1)
		}
		if at == from {
			break
		}
	}
	return at, end, layout
}

// hasClock reports whether the text has two colons with two digits in between.
func hasClock(text []byte) bool {
	for i := 3; i < len(text); i++ {
		if text[i] == ':' && text[i-3] == ':' && isDigit(text[i-1]) && isDigit(text[i-2]) {
			return true
		}
	}
	return false
}

// eachNumber calls f for each address, and for each number or id in hex of three digits
// or more, without leading zeros.
func eachNumber(line []byte, f func(kind logKind, from, to int)) {
	done := 0
	for _, m := range logIPs.FindAllIndex(line, -1) {
		eachID(line[done:m[0]], func(kind logKind, i, j int) { f(kind, done+i, done+j) })
		f(logShiftIP, m[0], m[1])
		done = m[1]
	}
	eachID(line[done:], func(kind logKind, i, j int) { f(kind, done+i, done+j) })
}

func eachID(line []byte, f func(kind logKind, from, to int)) {
	for i := 0; i < len(line); i++ {
		if !isAlnum(line[i]) {
			continue
		}
		j := i
		for j < len(line) && isAlnum(line[j]) {
			j++
		}
		run := line[i:j]
		if bytes.HasPrefix(run, []byte("0x")) {
			run, i = run[2:], i+2
		}
		digits, hex := 0, 0
		for _, c := range run {
			if isDigit(c) {
				digits++
			} else if c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
				hex++
			}
		}
		if digits > 0 && hex > 0 && digits+hex == len(run) && len(run) >= 3 {
			f(logShiftHex, i, j)
		} else {
			eachDecimal(run, func(from, to int) { f(logShiftDigits, i+from, i+to) })
		}
		i = j
	}
}

func eachDecimal(run []byte, f func(from, to int)) {
	for i := 0; i < len(run); i++ {
		if !isDigit(run[i]) || run[i] == '0' {
			continue
		}
		j := i
		for j < len(run) && isDigit(run[j]) {
			j++
		}
		if j-i >= 3 {
			f(i, j)
		}
		i = j
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlnum(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// saysLevel has the words for levels in lines; those of one letter are from Android's
// logcat.
var saysLevel = map[string]int{
	"TRACE": logDebug, "DEBUG": logDebug, "trace": logDebug, "debug": logDebug, "V": logDebug, "D": logDebug,
	"INFO": logInfo, "NOTICE": logInfo, "info": logInfo, "notice": logInfo, "I": logInfo,
	"WARN": logWarn, "WARNING": logWarn, "warn": logWarn, "warning": logWarn, "W": logWarn,
	"ERROR": logError, "FATAL": logError, "SEVERE": logError, "CRITICAL": logError,
	"error": logError, "fatal": logError, "crit": logError, "E": logError, "F": logError,
}

var (
	isError   = regexp.MustCompile(`(?i)\b(?:error|fatal|panic|break-in)\b`)
	isWarning = regexp.MustCompile(`(?i)\b(?:fail\w*|invalid|denied|refused|timed out)\b`)
)

// levelOf returns the level that a word near the beginning names. Without such a word the
// content decides.
func levelOf(line []byte) int {
	head := line[:min(len(line), 100)]
	words := bytes.FieldsFuncSeq(head, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	for w := range words {
		if level, ok := saysLevel[string(w)]; ok {
			return level
		}
	}
	switch {
	case isError.Match(line):
		return logError
	case isWarning.Match(line):
		return logWarn
	}
	return logInfo
}
