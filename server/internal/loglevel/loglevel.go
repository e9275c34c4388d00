// Package loglevel finds the level of a log line as Loki does for discover_log_levels, so
// that the same lines have the same detected_level.
//
// It is the first of these that there is: the metadata detected_level; a label of the
// stream, or else metadata, of the names of [Rank]; the metadata severity_number, of
// OpenTelemetry; and what the line tells, see [OfLine]. A label and metadata may tell any
// level, a line tells known ones only.
package loglevel

import (
	"strconv"
	"strings"
)

// Unknown is the level of an entry that tells none.
const Unknown = "unknown"

// Known are the levels that lines may tell, and Unknown.
func Known() []string {
	return []string{"trace", "debug", "info", "warn", "error", "critical", "fatal", Unknown}
}

// Rank returns the rank of a name among those that have a level, below 0 if it is none:
// the level of the lowest rank counts.
func Rank(name string) int {
	switch name {
	case "level":
		return 1
	case "LEVEL":
		return 2
	case "Level":
		return 3
	case "severity":
		return 4
	case "SEVERITY":
		return 5
	case "Severity":
		return 6
	case "SeverityText":
		return 7
	case "lvl":
		return 8
	case "LVL":
		return 9
	case "Lvl":
		return 10
	case "severity_text":
		return 11
	case "Severity_Text":
		return 12
	case "SEVERITY_TEXT":
		return 13
	case "severity_number":
		return RankNumber
	}
	return -1
}

// RankNumber is the rank of severity_number, which counts in metadata only.
const RankNumber = 14

// OfValue returns the level that a value of a name of that rank tells. It is the value
// itself if it is none of the known ones.
func OfValue(rank int, value string) string {
	if rank == RankNumber {
		return ofNumber(value)
	}
	if level := known(value); level != "" {
		return level
	}
	return value
}

// ofNumber returns the level of a severity number of OpenTelemetry.
func ofNumber(text string) string {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return "info"
	case n == 0 || n > 24:
		return Unknown
	case n <= 4:
		return "trace"
	case n <= 8:
		return "debug"
	case n <= 12:
		return "info"
	case n <= 16:
		return "warn"
	case n <= 20:
		return "error"
	}
	return "fatal"
}

// known returns the level that a value means, "" if it is none that is known.
func known[T string | []byte](value T) string {
	if len(value) < 3 || len(value) > 11 {
		return ""
	}
	var low [11]byte
	for i := range len(value) {
		low[i] = lower(value[i])
	}
	switch string(low[:len(value)]) {
	case "trace", "trc":
		return "trace"
	case "debug", "dbg":
		return "debug"
	case "info", "inf", "information":
		return "info"
	case "warn", "wrn", "warning":
		return "warn"
	case "error", "err":
		return "error"
	case "critical":
		return "critical"
	case "fatal":
		return "fatal"
	}
	return ""
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// OfLine returns the level that the text of a line tells, "" if none: in JSON the first
// string of a name of a level, on the first two levels of nesting; in logfmt the value of the
// name that comes first in the order of Rank, by letters of any case; else, or if that value
// is not known, the first word that is a level.
func OfLine(line []byte) string {
	text := trim(line)
	var value []byte
	if n := len(text); n > 1 && text[0] == '{' && text[n-1] == '}' {
		value = ofJSON(text)
	} else {
		value = ofLogfmt(line)
	}
	if level := known(value); level != "" {
		return level
	}
	return ofWords(line)
}

func trim(p []byte) []byte {
	for len(p) > 0 && p[0] <= ' ' {
		p = p[1:]
	}
	for len(p) > 0 && p[len(p)-1] <= ' ' {
		p = p[:len(p)-1]
	}
	return p
}

// isField reports whether a name in a line is that of a level. In logfmt letters are of any case.
func isField(name []byte) bool { return Rank(string(name)) > 0 || string(name) == "log.level" }

// folded returns the rank of a name in logfmt, below 0 if it is none of a level.
func folded(name []byte) int {
	switch len(name) {
	case 3:
		if strings.EqualFold(string(name), "lvl") {
			return 8
		}
	case 5:
		if strings.EqualFold(string(name), "level") {
			return 1
		}
	case 8:
		if strings.EqualFold(string(name), "severity") {
			return 4
		}
	case 9:
		if strings.EqualFold(string(name), "log.level") {
			return 3
		}
	case 12:
		if strings.EqualFold(string(name), "SeverityText") {
			return 7
		}
	case 13:
		if strings.EqualFold(string(name), "severity_text") {
			return 11
		}
	}
	return -1
}
