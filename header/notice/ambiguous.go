package notice

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
)

// An ambiguity is an extension of several languages whose comments differ. The
// content decides; if it matches none of them, or several, the file is skipped.
type ambiguity struct {
	languages string // for the reason
	among     []candidate
}

type candidate struct {
	sign  *regexp.Regexp // matches code of the language
	known string         // an extension with the same comments, "" for generated files
}

// ambiguityMost is the length, in bytes, of the part of a file that decides: no
// more than EditHead asks for, so that a head is decided as the whole file is.
const ambiguityMost = 8 << 10

// The signs are lines of code. No comment begins like one, so a notice does not
// change the language of a file.
var ambiguities = map[string]ambiguity{
	".v": {"Verilog, V or Coq", []candidate{
		{regexp.MustCompile("(?m)^[ \t]*(?:(?:macro)?module|primitive|package|interface|program|endmodule|pub fn|fn|import|struct|enum|const|assign|wire|reg|always|initial)\\b|^[ \t]*`[a-z]"), ".sv"},
		{regexp.MustCompile(`(?m)^[ \t]*(?:(?:Global|Local|#\[[^\n]*\])[ \t]+)*(?:(?:From[ \t]+[\w.]+[ \t]+)?Require|Import|Export|Theorem|Lemma|Definition|Fixpoint|CoFixpoint|Inductive|CoInductive|Module|Section|Proof|Notation|Ltac|Record|Class|Instance|Variables?|Hypothes[ie]s|Axiom|Parameters?|Corollary|Example|Open[ \t]+Scope|Set|Unset|Declare)\b`), ".ml"},
	}},
	".pl": {"Perl or Prolog", []candidate{
		{regexp.MustCompile(`(?m)\A(?:\xef\xbb\xbf)?#![^\n]*perl|^[ \t]*(?:use|no|require)[ \t]+[\w:.'"]+[^\n]*;|^[ \t]*(?:my|our|local)\b[ \t]*[$@%(]|^[ \t]*sub[ \t]+\w+|^package[ \t]+[\w:]+|^=(?:head\d|pod|cut|encoding)|^[ \t]*[$@%]\w+[^\n]*=|^[ \t]*(?:print|printf|say|die|exit)\b[^\n]*;|^__(?:END|DATA)__`), ".pm"},
		{regexp.MustCompile(`(?m)\A(?:\xef\xbb\xbf)?#![^\n]*(?:swipl|prolog|yap|eclipse)|^:-|^[a-z]\w*(?:\([^\n]*\))?[ \t]*(?::-|-->)|^[a-z]\w*\([^\n]*\)\.[ \t]*(?:%|\r?$)`), ".prolog"},
	}},
	".pp": {"Puppet or Pascal", []candidate{
		{regexp.MustCompile(`(?m)^[ \t]*(?:class|define|node)[ \t]+['"\w:][^\n]*(?:[{(]|\r?$)|^[ \t]*(?:include|contain|require)[ \t]+['"]?:{0,2}[\w:]+['"]?[ \t]*\r?$|^[ \t]*@{0,2}[a-z][\w:]*[ \t]*\{[ \t]*['"$\[]|^[ \t]*\$\w+[ \t]*=|^[ \t]*['"]?\w+['"]?[ \t]*=>`), ".rb"},
		{regexp.MustCompile(`(?im)^[ \t]*(?:unit|program|library)[ \t]+[\w.]+[ \t]*[;(]|^[ \t]*(?:uses|implementation)\b|^[ \t]*interface[ \t]*\r?$|^[ \t]*begin[ \t]*\r?$|^[ \t]*end\.|^[ \t]*\{\$[a-z]|:=`), ".pas"},
	}},
	".d": {"D or the dependencies of a Makefile", []candidate{
		{regexp.MustCompile(`(?m)^[ \t]*(?:module|(?:(?:public|private|static)[ \t]+)?import)[ \t]+[\w.]+|^[ \t]*(?:extern[ \t]*\(|(?:void|int)[ \t]+main\b|unittest\b|version[ \t]*\(|alias[ \t]|enum\b|(?:final[ \t]+|abstract[ \t]+)?(?:struct|class|interface|template)[ \t]+\w|mixin\b|@(?:safe|nogc|trusted|property|system)\b|(?:@\w+[ \t]+)*(?:auto|void|int|string|bool|size_t)[ \t]+\w+[ \t]*[(=;])`), ".di"},
		{regexp.MustCompile(`(?m)\A(?:#[^\n]*\n|[ \t]*\n)*[^\s:#/][^\s:]*(?:[ \t]+[^\s:]+\.[^\s:]+)*:(?:[ \t]+[^\n]*|\\?\r?)$`), ""},
	}},
}

// disambiguate returns the language of a file by its content, if its extension is
// ambiguous.
func (m *matcher) disambiguate(name string, lang *language, src []byte) (_ *language, reason string) {
	base := filepath.Base(name)
	a, ok := ambiguities[strings.ToLower(filepath.Ext(base))]
	if !ok || lang != m.byName(base) || m.names[base] != nil {
		return lang, ""
	}
	src = src[:min(len(src), ambiguityMost)]
	if i := bytes.LastIndexByte(src, '\n'); i >= 0 && len(src) == ambiguityMost {
		src = src[:i+1]
	}
	var is []candidate
	for _, k := range a.among {
		if k.sign.Match(src) {
			is = append(is, k)
		}
	}
	switch {
	case len(is) != 1:
		return nil, "either " + a.languages + "; a style for " + filepath.Ext(base) + " decides"
	case is[0].known == "":
		return nil, "generated"
	}
	return m.names[is[0].known], ""
}
