package notice

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
)

// An ambiguity is an extension that several languages have, whose comments
// differ. What the file says decides; where that fits none of them, or more than
// one, the file is left out.
type ambiguity struct {
	of    string // for the reason
	among []candidate
}

type candidate struct {
	sign  *regexp.Regexp // what such a file says
	known string         // an extension of the same comments, "" for files that programs write
}

// ambiguityMost is how much of a file is looked at, in bytes: no more than what is
// read of it at first, so that a part of a file says the same as all of it.
const ambiguityMost = 8 << 10

// The signs are lines of code: no comment begins as they do, so a header does
// not change what a file is taken for.
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

// unsure is the language of a file whose extension has several.
func (c *catalog) unsure(name string, lang *language, src []byte) (_ *language, reason string) {
	base := filepath.Base(name)
	a, ok := ambiguities[strings.ToLower(filepath.Ext(base))]
	if !ok || lang != c.byName(base) || c.names[base] != nil {
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
		return nil, "either " + a.of + "; --style " + filepath.Ext(base) + "=STYLE tells"
	case is[0].known == "":
		return nil, "generated"
	}
	return c.names[is[0].known], ""
}
