package notice

import (
	"bytes"
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/setting"
)

// suffixes are extensions that say nothing about comments: the one before counts.
var suffixes = []string{".in", ".dist", ".example", ".sample"}

// A matcher finds the language of a file.
type matcher struct {
	names    map[string]*language // by file name, or by extension in lower case
	patterns []namePattern
	scripts  map[string]*language    // by the interpreter of the "#!" line
	xml      *language               // of files that begin with <?xml
	forced   map[string]commentStyle // Options.Styles by extension or name; "" is every file
}

type namePattern struct {
	glob string
	lang *language
}

func newMatcher(styles []string) (*matcher, error) {
	m := &matcher{names: map[string]*language{}, forced: map[string]commentStyle{}}
	for i := range languages {
		for _, name := range strings.Fields(languages[i].names) {
			if strings.Contains(name, "*") {
				m.patterns = append(m.patterns, namePattern{name, &languages[i]})
			} else {
				m.names[name] = &languages[i]
			}
		}
	}
	m.scripts = map[string]*language{
		"node": m.names[".js"], "deno": m.names[".ts"], "bun": m.names[".ts"], "php": m.names[".php"], "lua": m.names[".lua"],
		"runghc": m.names[".hs"], "ocaml": m.names[".ml"], "escript": m.names[".erl"], "groovy": m.names[".groovy"],
		"python": m.names[".py"], "ruby": m.names[".rb"],
	}
	m.xml = m.names[".xml"]
	for _, s := range styles {
		key, style := "", s
		if k, v, ok := strings.Cut(s, "="); ok && k != "" && v != "" && !strings.ContainsAny(k, " \t") {
			key, style = k, v
		}
		forced, err := parseStyle(style)
		if err != nil {
			return nil, err
		}
		if _, ok := m.forced[key]; ok {
			return nil, setting.Wrong("notice: Options.Styles", s, "one style for %s", cmp.Or(key, "every file"))
		}
		m.forced[key] = forced
	}
	return m, nil
}

// of returns the language of the file name, whose first bytes are head, or the
// reason why it is not known.
func (m *matcher) of(name string, head []byte) (_ *language, reason string) {
	lang := m.find(name, head)
	if lang == nil {
		return nil, "unknown type"
	}
	return m.disambiguate(name, lang, head)
}

// find is of by name and "#!" line only. It returns nil for an unknown type.
func (m *matcher) find(name string, head []byte) *language {
	base := filepath.Base(name)
	lang := m.byName(base)
	for lang == nil && slices.Contains(suffixes, filepath.Ext(base)) {
		base = strings.TrimSuffix(base, filepath.Ext(base))
		lang = m.byName(base)
	}
	if lang == nil && filepath.Ext(base) == "" {
		lang = m.byScript(head)
	}
	if lang != nil && lang.needs == "" && !slices.Contains(lang.styles, markup) && xmlDeclaration(nil, bytes.TrimPrefix(head, bom), 0) > 0 {
		lang = m.xml // as a .ts file of translations
	}
	for _, key := range []string{filepath.Base(name), strings.ToLower(filepath.Ext(name)), ""} {
		if style, ok := m.forced[key]; ok {
			var styled language
			if lang != nil {
				styled = *lang
			}
			styled.styles = append([]commentStyle{style}, styled.styles...)
			return &styled
		}
	}
	return lang
}

func (m *matcher) byName(base string) *language {
	if l := m.names[base]; l != nil {
		return l
	}
	for _, p := range m.patterns {
		if ok, _ := filepath.Match(p.glob, base); ok {
			return p.lang
		}
	}
	if ext := filepath.Ext(base); ext != "" {
		return m.names[strings.ToLower(ext)]
	}
	return nil
}

// interpreter matches the program of a "#!" line: its base name, or the program
// that env starts, without a version.
var interpreter = regexp.MustCompile(`^#![ \t]*(?:\S*/env(?:[ \t]+-\S+)*[ \t]+)?(?:\S*/)?([A-Za-z_+-]+)`)

func (m *matcher) byScript(head []byte) *language {
	match := interpreter.FindSubmatch(bytes.TrimPrefix(head, bom))
	if match == nil {
		return nil
	}
	if l := m.scripts[string(match[1])]; l != nil {
		return l
	}
	return m.names[".sh"] // an interpreter to which "#!" is a comment has "#" comments
}
