package notice

import "testing"

// Where the extension is ambiguous the content decides, or the file is skipped.
func TestAmbiguous(t *testing.T) {
	for _, c := range []struct{ name, src, style string }{
		{"a.v", "`timescale 1ns / 1ps\nmodule a(input b);\nendmodule\n", "//"},
		{"a.v", "(* keep *)\nmodule a\n  (input b);\nendmodule\n", "//"},
		{"a.v", "module main\n\nfn main() {\n\tprintln('a')\n}\n", "//"},
		{"a.v", "Require Import List.\n\nTheorem a : True.\nProof. trivial. Qed.\n", "(* *)"},
		{"a.v", "(* A file. *)\nFrom Coq Require Import Arith.\n", "(* *)"},
		{"a.pl", "#!/usr/bin/perl -w\nuse strict;\nmy $a = 1;\n", "#"},
		{"a.pl", "print \"a\\n\";\n", "#"},
		{"a.pl", "package A;\nsub b { }\n1;\n", "#"},
		{"a.pl", ":- module(a, [b/1]).\n\nb(X) :- c(X).\n", "%"},
		{"a.pl", "#!/usr/bin/env swipl\nlikes(mary, wine).\n", "%"},
		{"a.pl", "likes(mary, wine).\n", "%"},
		{"a.pp", "class a {\n  package { 'b': ensure => present }\n}\n", "#"},
		{"a.pp", "node 'a.example' {\n  include b\n}\n", "#"},
		{"a.pp", "unit A;\n\ninterface\n\nimplementation\n\nend.\n", "{ }"},
		{"a.pp", "{$mode objfpc}\nprogram A;\nbegin\n  B := 1;\nend.\n", "{ }"},
		{"a.d", "module a;\n\nimport std.stdio;\n\nvoid main() { }\n", "//"},
		{"a.d", "import std.stdio : writeln;\n", "//"},
		{"a.v", "something\n", ""},
		{"a.pl", "something\n", ""},
		{"a.pp", "something\n", ""},
		{"a.d", "something\n", ""},
		{"a.v", "", ""},
		{"a.d", "target: first second\n", ""},
	} {
		change, err := newEditor(t, Insert, mit, nil).Edit(c.name, []byte(c.src))
		if err != nil || change.Style != c.style || (change.State == Skipped) != (c.style == "") {
			t.Errorf("%s %q: style %q, want %q; %+v, %v", c.name, c.src, change.Style, c.style, change, err)
		}
		if c.style != "" && !newEditors(t, mit).roundTrip(t, c.name, c.src, mit) {
			t.Errorf("%s %q gets no header", c.name, c.src)
		}
	}
	change, err := newEditor(t, Insert, mit, func(o *Options) { o.Styles = []string{".pl=%"} }).Edit("a.pl", []byte("something\n"))
	if err != nil || change.State != Inserted || change.Style != "%" {
		t.Errorf("with a style: %+v, %v", change, err)
	}
}
