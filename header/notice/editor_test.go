package notice

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func newEditor(t testing.TB, action Action, text string, change func(o *Options)) *Editor {
	t.Helper()
	o := Options{Action: action, Text: text, Year: "2026"}
	if change != nil {
		change(&o)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// after returns src with the change made.
func after(t testing.TB, e *Editor, name, src string) (state State, got string) {
	t.Helper()
	c, err := e.Edit(name, []byte(src))
	if err != nil {
		t.Fatalf("%v: %q", err, src)
	}
	if !strings.HasPrefix(src, string(c.Old)) {
		t.Fatalf("%s %s: %q does not begin with %q", e.o.Action, name, src, c.Old)
	}
	return c.State, string(c.Apply([]byte(src)))
}

const mit = "Copyright {{.Year}} ACME\n\nSPDX-License-Identifier: MIT"

// nameOf has a file name for each language.
func nameOf(l language) string {
	name := strings.ReplaceAll(strings.Fields(l.names)[0], "*", "x")
	if strings.HasPrefix(name, ".") {
		return "file" + name
	}
	return name
}

// A second insert leaves the first one's notice, check finds it, replace renews it and
// remove removes it, in every language, whatever the file begins with.
func TestInsertAndRemoveAreInverse(t *testing.T) {
	heads := []string{
		"", "\n", "\n\n\n", "x", "x\n", "\nx\n", "  x\n", "x\r\ny\r\n", "\r\n", " ", "\t\n ",
		"#!/bin/sh", "#!/bin/sh\n", "#!/bin/sh\nx\n", "#!/bin/sh\n\nx\n", "#!/usr/bin/env python3\r\n# coding: latin-1\r\nx\r\n",
		"# -*- coding: utf-8 -*-\nx\n", "# frozen_string_literal: true\n\nx\n", "# vim: set ts=4:\nx\n",
		"// foreign banner\nx\n", "/* foreign\n   banner */\nx\n", "/* a */ /* b */ x\n", "# foreign\nx\n", "<!-- foreign -->\nx", "; x\n", "-- x\n", "% x\n",
		"/* not closed\n", "<!-- not closed\n", "//go:build linux\n\npackage x\n", "// +build linux\n\npackage x\n",
		"<?xml version=\"1.0\"?>", "<?xml version=\"1.0\"?>\n<a/>\n", "<?xml version=\"1.0\"?><a/>\n", "<?xml version=\"1.0\"?>\r\n<!DOCTYPE a [\r\n<!ENTITY b \"]>\">\r\n]>\r\n<a/>\r\n",
		"<!doctype html><html>\n", "<!doctype html>\n<html>\n", "<?xml not closed", "<!doctype not closed",
		"<?php\nx();\n", "<?php x();\n", "<?php", "<?php\r\nx();\r\n", "#!/usr/bin/php\n<?php\nx();\n",
		"---\ntitle: x\n---\nx\n", "---\nx\n", "+++\nx = 1\n+++\n", "@charset \"utf-8\";\nx\n", "@charset \"utf-8\";x\n",
		"# syntax=docker/dockerfile:1\n# escape=`\nFROM x\n", "#cloud-config\nx: y\n", "#compdef x\nx\n", "'\\\" t\n.TH X\n", "%&latex\nx\n", "#![no_std]\nx\n",
	}
	texts := []string{mit, "one", "- a\n- b", "coding: x", "vim: x", "syntax=x", "go:build x\nnolint", "two  spaces\n\n  and indent\n\n\nend"}
	var of []editors
	for _, text := range texts {
		of = append(of, newEditors(t, text))
	}
	done := 0
	for i, l := range languages {
		name := nameOf(l)
		for j, h := range heads {
			for k, text := range texts {
				if (i+j+k)%3 != 0 { // each text is tried with each head in some languages
					continue
				}
				first := ""
				if (i+j)%2 == 0 {
					first = string(bom)
				}
				if of[k].roundTrip(t, name, first+h, text) {
					done++
				}
			}
		}
	}
	if all := len(languages) * len(heads) * len(texts); done < all/6 {
		t.Errorf("only %d of %d could be tried", done, all)
	}
}

// editors are the editors of one text.
type editors struct{ insert, check, replace, remove *Editor }

func newEditors(t *testing.T, text string) editors {
	t.Helper()
	return editors{
		insert:  newEditor(t, Insert, text, nil),
		check:   newEditor(t, Check, text, func(o *Options) { o.Exact, o.Year = true, "1999-2001" }),
		replace: newEditor(t, Replace, text, func(o *Options) { o.Year = "2031" }),
		remove:  newEditor(t, Remove, text, nil),
	}
}

// roundTrip returns false if the file gets no header: the style cannot hold the text, a
// PHP file has no tag, or the file has the header already.
func (e editors) roundTrip(t *testing.T, name, src, text string) bool {
	t.Helper()
	c, err := e.insert.Edit(name, []byte(src))
	if err != nil || c.State == Skipped || c.State == Present {
		return false
	}
	state, with := after(t, e.insert, name, src)
	if state != Inserted || with == src {
		t.Fatalf("%s: insert of %q into %q: %s", name, text, src, state)
	}
	if state, again := after(t, e.insert, name, with); state != Present || again != with {
		t.Fatalf("%s: a second insert of %q into %q: %s, and\n%q became\n%q", name, text, src, state, with, again)
	}
	if state, _ := after(t, e.check, name, with); state != Present {
		t.Fatalf("%s: check of %q in %q: %s", name, text, with, state)
	}
	_, newer := after(t, e.replace, name, with)
	if (text == mit) == (newer == with) {
		t.Fatalf("%s: replace of %q by another year made %q", name, with, newer)
	}
	for _, s := range []string{with, newer} {
		if state, got := after(t, e.remove, name, s); state != Removed || got != src {
			t.Fatalf("%s: remove of %q: %s\n%q became\n%q, want\n%q", name, text, state, s, got, src)
		}
	}
	return true
}

func FuzzInsertAndRemove(f *testing.F) {
	f.Add("#!/bin/sh\nx", "text", uint8(0))
	f.Add("<?xml version='1.0'?><a/>", "a\nb {{.Year}}", uint8(23))
	f.Add("\xef\xbb\xbf/* x */\r\n", mit, uint8(7))
	f.Fuzz(func(t *testing.T, src, text string, lang uint8) {
		if tmpl, err := parseText("", text); tmpl == nil || err != nil || bytes.IndexByte([]byte(src), 0) >= 0 {
			return
		}
		l := languages[int(lang)%len(languages)]
		if strings.Contains(text, "{{") {
			text = mit
		}
		newEditors(t, text).roundTrip(t, nameOf(l), src, text)
	})
}

// Only the head of a long file is read. The result is the same as for the whole file, or
// the head is reported as too short.
func TestPartOfAFileIsEnoughOrSaysSo(t *testing.T) {
	short, enough := 0, 0
	for _, first := range []string{"", "#!/bin/sh\n", "/* x\n" + strings.Repeat(" * y\n", 200) + " */\n", "<?xml version=\"1.0\"?>\n<!DOCTYPE x [" + strings.Repeat("<!ENTITY a 'b'>\n", 90) + "]>\n", "---\n" + strings.Repeat("a: b\n", 300) + "---\n"} {
		for _, name := range []string{"a.go", "a.c", "a.xml", "a.md", "a.sh"} {
			for _, with := range []bool{false, true} {
				src := first + strings.Repeat("x = 1\n", 2000)
				if with {
					_, src = after(t, newEditor(t, Insert, mit, nil), name, src)
				}
				for _, verb := range []Action{Insert, Replace, Remove} {
					p := newEditor(t, verb, mit, func(o *Options) { o.Year = "2030" })
					want, err := p.Edit(name, []byte(src))
					if err != nil {
						t.Fatal(err)
					}
					for n := 1024; n < len(src); n += 499 {
						got, err := p.EditHead(name, []byte(src[:n]))
						if errors.Is(err, ErrShort) {
							short++
							continue
						}
						enough++
						if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
							t.Fatalf("%s of %s by its first %d bytes: %q, %v; want %q", verb, name, n, got, err, want)
						}
					}
				}
			}
		}
	}
	if short == 0 || enough == 0 {
		t.Errorf("%d heads were too short, %d long enough: the test shows nothing", short, enough)
	}
}

func TestActions(t *testing.T) {
	const ours, theirs = "// Copyright 2020 ACME\n//\n// SPDX-License-Identifier: MIT\n", "// Copyright 2011 The Others. All rights reserved.\n"
	marker := func(words ...string) func(o *Options) { return func(o *Options) { o.Markers = words } }
	for _, c := range []struct {
		what      string
		action    Action
		text, src string
		set       func(o *Options)
		state     State
		want      string // "" is src
	}{
		{"insert before a foreign banner", Insert, mit, "// a banner\n\nx", nil, Inserted, "// Copyright 2026 ACME\n//\n// SPDX-License-Identifier: MIT\n\n// a banner\n\nx"},
		{"insert leaves another notice", Insert, mit, theirs + "\nx", nil, Other, ""},
		{"insert leaves a notice after a banner", Insert, mit, "// a banner\n\n" + theirs + "\nx", nil, Other, ""},
		{"insert of no notice goes before a notice", Insert, "Read AGENTS.md", theirs + "\nx", nil, Inserted, "// Read AGENTS.md\n\n" + theirs + "\nx"},
		{"insert with a marker goes before a notice without", Insert, mit, theirs + "\nx", marker("ACME"), Inserted, "// Copyright 2026 ACME\n//\n// SPDX-License-Identifier: MIT\n\n" + theirs + "\nx"},
		{"insert leaves what has the marker", Insert, mit, theirs + "\nx", marker("Others"), Present, ""},
		{"insert knows its text in another form", Insert, mit, "/*\n** Copyright (nobody)\n*/\n/* Copyright 1999, 2001-2004 ACME SPDX-License-Identifier: MIT */\nx", nil, Present, ""},
		{"a notice after the code does not count", Insert, "one", "x\n// one\n", nil, Inserted, "// one\n\nx\n// one\n"},
		{"replace renews years", Replace, mit, ours + "\nx", nil, Replaced, "// Copyright 2026 ACME\n//\n// SPDX-License-Identifier: MIT\n\nx"},
		{"replace keeps years", Replace, "Copyright {{.Year}} ACME Ltd", "// Copyright 2011-2020 ACME\n\nx", func(o *Options) { o.KeepYears, o.Markers = true, []string{"ACME"} }, Replaced, "// Copyright 2011-2020 ACME Ltd\n\nx"},
		{"replace leaves another notice", Replace, mit, theirs + "\nx", nil, Other, ""},
		{"insert leaves a notice that begins with the text", Insert, "Copyright {{.Year}} ACME", ours + "\nx", nil, Other, ""},
		{"remove leaves a notice that begins with the text", Remove, "Copyright {{.Year}} ACME", ours + "\nx", nil, Other, ""},
		{"replace of an old text", Replace, "Copyright {{.Year}} Bar", "/*\n * Copyright 2023 Foo\n */\nx\n", func(o *Options) { o.Old = "Copyright 2020 Foo" }, Replaced, "// Copyright 2026 Bar\n\nx\n"},
		{"replace of an old text leaves what says more", Replace, "Copyright {{.Year}} Bar", "// Copyright 2023 Foo and Co\n\nx\n", func(o *Options) { o.Old = "Copyright 2020 Foo" }, Other, ""},
		{"replace by marker", Replace, "new", theirs + "\nx", marker("Others"), Replaced, "// new\n\nx"},
		{"replace by marker after a banner", Replace, "new", "// a banner\n\n" + theirs + "\nx", marker("Others"), Replaced, "// a banner\n\n// new\n\nx"},
		{"replace puts an empty line after", Replace, "new", theirs + "package x\n", marker("Others"), Replaced, "// new\n\npackage x\n"},
		{"replace leaves directives", Replace, "new", theirs + "//go:build linux\n\npackage x\n", marker("Others"), Replaced, "// new\n\n//go:build linux\n\npackage x\n"},
		{"replace changes the form", Replace, mit, "/* Copyright 2020 ACME\n * SPDX-License-Identifier: MIT */\nx\n", nil, Replaced, "// Copyright 2026 ACME\n//\n// SPDX-License-Identifier: MIT\n\nx\n"},
		{"replace without a notice", Replace, "new", "x\n", nil, Inserted, "// new\n\nx\n"},
		{"replace where nothing changes", Replace, "new", "// new\n\nx\n", nil, Present, ""},
		{"remove by marker", Remove, "", ours + "\nx", marker("ACME"), Removed, "x"},
		{"remove by marker: an indented block", Remove, "", "  /* (c) 2020 ACME */\n  x", marker("ACME"), Removed, "  x"},
		{"remove by marker: after another block", Remove, "", "/* a */ /* (c) 2020 ACME */\nx", marker("ACME"), Removed, "/* a */ \nx"},
		{"remove by marker: before code", Remove, "", "/* (c) 2020 ACME */ x", marker("ACME"), Removed, " x"},
		{"remove by marker: a frame of blocks", Remove, "", "/* ---- */\n/* (c) 2020 ACME */\n/* ---- */\nx", marker("ACME"), Removed, "x"},
		{"remove by marker: not the documentation", Remove, "", "// Package x is ACME's.\npackage x\n", marker("ACME"), Missing, ""},
		{"remove by marker: the notice, not the documentation above it", Remove, "", "// All of ACME.\n\n// Copyright ACME\n\n// ACME too\npackage x\n", marker("ACME"), Removed, "// All of ACME.\n\n// ACME too\npackage x\n"},
		{"replace by marker: not the documentation", Replace, mit, "// Package x is ACME's.\npackage x\n", marker("ACME"), Inserted, "// Copyright 2026 ACME\n//\n// SPDX-License-Identifier: MIT\n\n// Package x is ACME's.\npackage x\n"},
		{"check by marker: not the documentation", Check, "", "// Package x is ACME's.\npackage x\n", marker("ACME"), Missing, ""},
		{"remove by marker: a banner apart", Remove, "", "// ACME\n\n// Package x is.\npackage x\n", marker("ACME"), Removed, "// Package x is.\npackage x\n"},
		{"remove leaves directives", Remove, "", "// ACME\n//go:build linux\n\npackage x\n", marker("ACME"), Removed, "//go:build linux\n\npackage x\n"},
		{"remove leaves documentation", Remove, "", "// ACME\n//! docs\nx\n", marker("ACME"), Removed, "//! docs\nx\n"},
		{"remove leaves documentation blocks", Remove, "", "/* ACME */\n/** docs */\nx\n", marker("ACME"), Removed, "/** docs */\nx\n"},
		{"remove knows headers in doc comments", Remove, "", "/// ACME\n/// more\n\nx\n", marker("ACME"), Removed, "x\n"},
		{"remove leaves another notice", Remove, mit, theirs + "\nx", nil, Other, ""},
		{"remove without a notice", Remove, mit, "x", nil, Missing, ""},
		{"check: any notice", Check, "", theirs + "\nx", nil, Present, ""},
		{"check: no notice", Check, "", "// a banner\nx", nil, Missing, ""},
		{"check: another notice", Check, mit, theirs + "\nx", nil, Other, ""},
		{"check: exactly", Check, mit, theirs + "\nx", func(o *Options) { o.Exact = true }, Missing, ""},
		{"check: exactly, with a marker", Check, mit, theirs + "\nx", func(o *Options) { o.Exact, o.Markers = true, []string{"Others"} }, Missing, ""},
		{"check: marker", Check, "", theirs + "\nx", marker("ACME"), Missing, ""},
		{"generated", Insert, mit, "// Code generated by x. DO NOT EDIT.\n\nx", nil, Skipped, ""},
		{"generated, asked for", Insert, "one", "// Code generated by x. DO NOT EDIT.\n\nx", func(o *Options) { o.Generated = true }, Inserted, "// one\n\n// Code generated by x. DO NOT EDIT.\n\nx"},
		{"binary", Insert, mit, "x\x00", nil, Skipped, ""},
	} {
		state, got := after(t, newEditor(t, c.action, c.text, c.set), "file.go", c.src)
		if c.want == "" {
			c.want = c.src
		}
		if state != c.state || got != c.want {
			t.Errorf("%s: %s, want %s\n got %q\nwant %q", c.what, state, c.state, got, c.want)
		}
	}
}

// A comment style that cannot hold the text, or that would hide code, is an error.
func TestDecideRefuses(t *testing.T) {
	for _, c := range []struct{ style, name, text, src, want string }{
		{"", "a.c", "a */ b", "x", "*/"},
		{"", "a.xml", "a -- b", "<a/>", "--"},
		{"", "a.tmpl", "a */ b", "x", "*/"},
		{"", "a.ml", "a (* b", "x", "(*"},
		{"//", "a.php", "a", "<?php x();", "code follows"},
		{"//", "a.css", "a", "@charset \"x\";x{}", "code follows"},
	} {
		p := newEditor(t, Insert, c.text, func(o *Options) {
			if c.style != "" {
				o.Styles = []string{c.style}
			}
		})
		if ch, err := p.Edit(c.name, []byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q into %q: %+v, %v; want an error with %q", c.name, c.text, c.src, ch, err, c.want)
		}
	}
}

func TestNotices(t *testing.T) {
	for text, want := range map[string]bool{
		"// Copyright 2020 X":                          true,
		" * copyright X":                               true,
		" ** (c) 2020 X":                               true,
		"# Library of X, Copyright (C) 1999 X":         true,
		"x SPDX-License-Identifier: MIT":               true,
		"// Licensed under the Apache License":         true,
		"// the terms of the Mozilla Public License":   true,
		"// Package x finds lines about copyright":     false,
		"// a license server":                          false,
		"// the year 2020":                             false,
		"// step (c) of the proof":                     false,
		"// copyrighted works are described elsewhere": false,
	} {
		if got := legal.MatchString(text); got != want {
			t.Errorf("%q is a notice: %v, want %v", text, got, want)
		}
	}
}

func TestFilesThatAreNotWhatTheyLookLike(t *testing.T) {
	for _, c := range []struct {
		name, src string
		state     State
	}{
		{"gnu.s", "# Copyright 2020 X\n\t.text\n", Other},
		{"go.s", "#include \"copyright.h\" // (c) 2020\n", Inserted},
		{"utf16.c", "\xff\xfex\x00", Skipped},
		{"utf16.c", "\xfe\xff\u4e00", Skipped},
	} {
		if state, _ := after(t, newEditor(t, Insert, mit, nil), c.name, c.src); state != c.state {
			t.Errorf("insert into %s %q: %s, want %s", c.name, c.src, state, c.state)
		}
	}
}
