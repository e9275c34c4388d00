package notice

import (
	"strings"
	"testing"
)

func TestLanguages(t *testing.T) {
	c, err := newMatcher([]string{".zz=#", "Special=/* */"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	extensions := 0
	for i, l := range languages {
		for _, name := range strings.Fields(l.names) {
			if seen[name] {
				t.Errorf("%s is in the table twice", name)
			}
			seen[name] = true
			if strings.HasPrefix(name, ".") {
				extensions++
				name = "a" + name
			}
			if got := c.find(strings.ReplaceAll(name, "*", "x"), nil); got != &languages[i] {
				t.Errorf("%s is not found", name)
			}
		}
	}
	if extensions < 100 {
		t.Errorf("only %d extensions", extensions)
	}
	for _, known := range []struct{ name, head, style string }{
		{"a.GO", "", "//"},
		{"a.yaml.in", "", "#"},
		{"a.yaml.j2", "", "{#- -#}"},
		{"Makefile.am", "", "#"},
		{"run", "#!/bin/sh\n", "#"},
		{"run", "\xef\xbb\xbf#!/usr/bin/env node\n", "/* */"},
		{"run", "#!/usr/bin/env -S php -n\n", "/* */"},
		{"run", "#! /usr/bin/lua5.4\n", "--"},
		{"run", "text", ""},
		{"README", "", ""},
		{"a.json", "", ""},
		{"a.m", "", ""},
		{"a.ts", "let a", "/* */"},
		{"a.ts", "\xef\xbb\xbf<?xml version='1.0'?><TS/>", "<!-- -->"},
		{"a.zz", "", "#"},
		{"Special", "", "/* */"},
	} {
		style := ""
		if l := c.find(known.name, []byte(known.head)); l != nil {
			style = l.styles[0].name()
		}
		if style != known.style {
			t.Errorf("%s %q has the style %q, want %q", known.name, known.head, style, known.style)
		}
	}
	for style, want := range map[string]commentStyle{"#": {open: "#"}, "none": raw, "/* */": {open: "/*", lead: " *", close: " */"}, "<!-- -->": {open: "<!--", lead: " ", close: "-->"}, "=begin =end": {open: "=begin", lead: " ", close: "=end"}} {
		if c, err := newMatcher([]string{style}); err != nil || c.forced[""] != want {
			t.Errorf("--style %q: %+v, %v", style, c, err)
		}
	}
	if _, err := newMatcher([]string{"a b c"}); err == nil {
		t.Error("--style 'a b c' is taken")
	}
}
