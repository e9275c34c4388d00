package follow

import (
	"path/filepath"
	"strconv"
	"strings"
)

// endings are those of the names of compressed files.
var endings = []string{".gz", ".zst", ".bz2", ".xz", ".lz4", ".Z"}

func withoutEnding(name string) string {
	for _, e := range endings {
		if base, ok := strings.CutSuffix(name, e); ok {
			return base
		}
	}
	return name
}

// IsGeneration reports whether a file has a name that programs give to an older file of
// path: app.log.1, app.log-20270115.gz, app.log.old, app-2027-01-15T08-00-00.000.log and
// app.1.log are of app.log. app.log.audit and app-2.log are other logs.
func IsGeneration(name, path string) bool {
	if filepath.Dir(name) != filepath.Dir(path) {
		return false
	}
	full, base := filepath.Base(name), filepath.Base(path)
	name = withoutEnding(full)
	if full == base || name == base {
		return full != base // app.log.gz
	}
	if rest, ok := strings.CutPrefix(name, base); ok && isRotation(rest) {
		return true
	}
	ext := filepath.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	if ext == "" || stem == "" {
		return false
	}
	rest, ok := strings.CutPrefix(name, stem)
	if !ok {
		return false
	}
	rest, ok = strings.CutSuffix(rest, ext)
	return ok && isRotation(rest)
}

// Bases returns the names of which a file may be a generation by its own, see IsGeneration.
func Bases(name string) (bases []string) {
	dir, full := filepath.Split(name)
	name = withoutEnding(full)
	if name != full {
		bases = append(bases, dir+name)
	}
	ext := max(strings.LastIndexByte(name, '.'), 0)
	for i := 1; i < len(name); i++ {
		if !strings.ContainsRune(".-_~", rune(name[i])) {
			continue
		}
		if isRotation(name[i:]) {
			bases = append(bases, dir+name[:i])
		}
		if i < ext && ext < len(name)-1 && isRotation(name[i:ext]) {
			bases = append(bases, dir+name[:i]+name[ext:])
		}
	}
	return bases
}

// isRotation reports whether a text is what a rotation adds to a name: a number behind a
// dot, a date and perhaps more numbers, or a word for old.
func isRotation(text string) bool {
	switch text {
	case ".old", ".prev", ".previous", ".bak", ".last", "-old", "~":
		return true
	case "":
		return false
	}
	if text[0] != '.' && text[0] != '-' && text[0] != '_' {
		return false
	}
	if digits, ok := strings.CutPrefix(text, "."); ok && len(digits) <= 4 && isNumber(digits) {
		return true
	}
	digits := 0
	for _, c := range []byte(text[1:]) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case !strings.ContainsRune("TtZz.-_:@+", rune(c)):
			return false
		}
	}
	return digits >= 6 && text[1] >= '0' && text[1] <= '9' // 202701 is the shortest date
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}

// suffixNumber returns the number behind the name of a rotated file: app.log.12 and
// app.log.12.gz are 12. The larger, the older. A date counts as 0.
func suffixNumber(name string) int {
	name = withoutEnding(name)
	text := name[strings.LastIndexByte(name, '.')+1:]
	n, err := strconv.Atoi(text)
	if err != nil || len(text) > 4 {
		return 0
	}
	return n
}

// OlderFirst compares the names of generations of one file: the older one, by the numbers
// or the dates in the names, is first.
func OlderFirst(a, b string) int {
	if d := suffixNumber(b) - suffixNumber(a); d != 0 {
		return d
	}
	return strings.Compare(withoutEnding(a), withoutEnding(b))
}
