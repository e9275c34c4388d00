package cli

import (
	"regexp"
	"strings"

	"github.com/stele-go/stele/internal/setting"
)

// A glob is a pattern for slash-separated paths: * and ? stay within one
// element, ** does not, [a-z] and [!a-z] are classes, {a,b} is either.
type glob struct {
	pattern string
	re      *regexp.Regexp
}

// parseGlob parses a pattern, the value of a flag.
func parseGlob(flag, pattern string) (glob, error) {
	var b strings.Builder
	depth := 0
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/") && (i == 0 || pattern[i-1] == '/'):
			b.WriteString(`(?:.*/)?`)
			i += len("**/") - 1
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			n := strings.IndexByte(pattern[i:], ']')
			if n < 2 {
				return glob{}, setting.Wrong(flag, pattern, "a glob with a ] for every [")
			}
			class := pattern[i+1 : i+n]
			if class[0] == '!' || class[0] == '^' {
				class = "^/" + class[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i += n
		case c == '{':
			depth++
			b.WriteString(`(?:`)
		case c == '}' && depth > 0:
			depth--
			b.WriteString(`)`)
		case c == ',' && depth > 0:
			b.WriteString(`|`)
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	if depth > 0 {
		return glob{}, setting.Wrong(flag, pattern, "a glob with a } for every {")
	}
	re, err := regexp.Compile(b.String() + `\z`)
	if err != nil {
		return glob{}, setting.Wrong(flag, pattern, "a glob: %v", err)
	}
	return glob{pattern, re}, nil
}

// isPattern reports whether s has a metacharacter of a glob.
func isPattern(s string) bool { return strings.ContainsAny(s, "*?[{") }

// base returns the directory that contains every match.
func (g glob) base() string {
	dir := g.pattern
	if i := strings.IndexAny(dir, "*?[{\\"); i >= 0 {
		dir = dir[:i]
	}
	i := strings.LastIndexByte(dir, '/')
	switch {
	case i < 0:
		return "."
	case i == 0:
		return "/"
	}
	return dir[:i]
}

// match reports whether the pattern matches the whole path.
func (g glob) match(path string) bool { return g.re.MatchString(path) }

// matchAny reports whether a pattern matches one of the paths or, if it has no
// slash, one of their elements.
func matchAny(globs []glob, paths ...string) bool {
	for _, g := range globs {
		for _, path := range paths {
			if g.match(path) {
				return true
			}
			if strings.Contains(g.pattern, "/") {
				continue
			}
			for e := range strings.SplitSeq(path, "/") {
				if g.match(e) {
					return true
				}
			}
		}
	}
	return false
}
