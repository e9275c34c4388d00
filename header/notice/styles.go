package notice

import (
	"slices"
	"strings"
	"sync"
)

// A Style is a comment style and the files that have it.
type Style struct {
	Comment string   // as Options.Styles has it: "//", "/* */"
	Names   []string // sorted: extensions (".go"), file names, patterns ("Dockerfile.*")
}

// Styles returns the styles of all known languages.
func Styles() []Style {
	var all []Style
	for _, l := range languages {
		name := l.styles[0].name()
		i := slices.IndexFunc(all, func(s Style) bool { return s.Comment == name })
		if i < 0 {
			i = len(all)
			all = append(all, Style{Comment: name})
		}
		all[i].Names = append(all[i].Names, strings.Fields(l.names)...)
	}
	for _, s := range all {
		slices.Sort(s.Names)
	}
	return all
}

// StyleOf returns the comment style in which a notice is written into the file
// name, whose content begins with head. ok is false if the type of the file is
// unknown or head does not settle it; 8 KiB of head do, or the whole file.
func StyleOf(name string, head []byte) (comment string, ok bool) {
	lang, reason := known().of(name, head)
	if reason != "" {
		return "", false
	}
	return lang.styles[0].name(), true
}

// known is the matcher without Options.Styles.
var known = sync.OnceValue(func() *matcher {
	m, _ := newMatcher(nil) // the error is about styles
	return m
})
