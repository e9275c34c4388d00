package logstore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestLabelsText(t *testing.T) {
	for _, c := range []struct {
		labels     Labels
		text, json string
	}{
		{Labels{}, `{}`, `{}`},
		{MustLabels("level", "error", "app", "api"), `{app="api", level="error"}`, `{"app":"api","level":"error"}`},
		{MustLabels("k8s.io/pod", "a b", "0", "1", "_x9", "y"), `{"0"="1", _x9="y", "k8s.io/pod"="a b"}`, `{"0":"1","_x9":"y","k8s.io/pod":"a b"}`},
		{MustLabels("a", "\"\\\n\x00\u2028\ufffd", "größe", "😀"), `{a="\"\\\n\x00\u2028�", "größe"="😀"}`, `{"a":"\"\\\n\u0000\u2028�","größe":"😀"}`},
		{MustLabels(`a"}`, `{b="c"}`), `{"a\"}"="{b=\"c\"}"}`, `{"a\"}":"{b=\"c\"}"}`},
	} {
		if got := c.labels.String(); got != c.text {
			t.Errorf("text %s, want %s", got, c.text)
		}
		if got, err := json.Marshal(c.labels); string(got) != c.json || err != nil {
			t.Errorf("JSON %s, %v; want %s", got, err, c.json)
		}
		checkLabelsText(t, c.labels)
	}
}

// checkLabelsText checks that both forms are read as the labels that they were made from.
func checkLabelsText(t *testing.T, l Labels) {
	t.Helper()
	if got, err := ParseLabels(l.String()); got != l || err != nil {
		t.Errorf("%s was read as %s, %v", l, got, err)
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	got := MustLabels("replaced", "yes")
	if err := json.Unmarshal(text, &got); got != l || err != nil {
		t.Errorf("%s was read as %s, %v", text, got, err)
	}
}

func TestParseLabels(t *testing.T) {
	want := MustLabels("app", "api", "level", "error")
	for _, text := range []string{
		` { app = "api" ,` + "\n\tlevel\r\n=\"error\"} ", `{level="error",app="api"}`, `{"level"="err\157r","app"="\u0061pi"}`, `{app="api",level="error",none=""}`,
	} {
		if got, err := ParseLabels(text); got != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for text, why := range map[string]string{
		``:                  "the end at byte 0; want '{'",
		`app="api"`:         "want '{'",
		`{`:                 "the end at byte 1; want the name",
		`{app`:              "want '='",
		`{app=}`:            "want a value",
		`{app=api}`:         "want a value",
		"{app=`api`}":       "want a value",
		`{app='a'}`:         "want a value",
		`{app="api}`:        "want a value",
		`{app="\q"}`:        "want a value",
		`{app="api"`:        "want ',' or '}'",
		`{app="a" b="c"}`:   "at byte 9; want ',' or '}'",
		`{app="api",}`:      "want the name",
		`{,}`:               "want the name",
		`{9a="b"}`:          "want the name",
		`{""="b"}`:          "no name",
		`{app="a"} x`:       "want nothing after",
		`{app="a",app="a"}`: "twice",
		`{app="\xff"}`:      "not UTF-8",
		`{app=~"a"}`:        "want a value",
		`{a="` + strings.Repeat("b", MaxLabelBytes) + `"}`: "want at most",
	} {
		if got, err := ParseLabels(text); err == nil || !errors.Is(err, ErrLabels) || !strings.Contains(err.Error(), why) {
			t.Errorf("%.40s: %s, %v; want an error with %q", text, got, err, why)
		}
	}
}

func TestLabelsJSON(t *testing.T) {
	type entry struct {
		Labels Labels  `json:"labels"`
		Other  *Labels `json:"other"`
	}
	before := entry{Labels: MustLabels("a", "b")}
	if err := json.Unmarshal([]byte(`{"labels": null, "other": null}`), &before); err != nil || before.Labels != MustLabels("a", "b") || before.Other != nil {
		t.Errorf("null gave %+v, %v", before, err)
	}
	for text, why := range map[string]string{
		`[]`: "want an object", `"a"`: "want an object", `{"a":1}`: "want a string", `{"a":null}`: "want a string", `{"a":{}}`: "want a string",
		`{"a":"b","a":"b"}`: "twice", `{"":"b"}`: "no name", "{\"a\":\"\xff\"}": "not UTF-8",
		`{"a":"\ud800"}`: `\ud800 is half`, `{"a":"\\\uD800x"}`: `\uD800 is half`, `{"\udc00":"b"}`: `\udc00 is half`, `{"a":"\ud83d\ud83d"}`: `\ud83d is half`,
		`{"a":"\ud83d\n"}`: `\ud83d is half`, `{"a":"\ud83d\ude00\ude00"}`: `\ude00 is half`,
	} {
		l := MustLabels("a", "b")
		if err := json.Unmarshal([]byte(text), &l); !errors.Is(err, ErrLabels) || !strings.Contains(err.Error(), why) || l != MustLabels("a", "b") {
			t.Errorf("%s: %s, %v; want an error with %q", text, l, err, why)
		}
	}
}

// UnmarshalJSON is given one value by package json. Called by itself it refuses more than
// that, too.
func TestLabelsUnmarshalJSON(t *testing.T) {
	for _, text := range []string{`{"a":"b"} x`, `{"a":"b"}{"c":"d"}`, `{"a":"b",}`, `{"a":"b"`, `{"a" "b"}`, `{"a":"\ud8"}`, ``, `nul`} {
		l := MustLabels("a", "b")
		if err := l.UnmarshalJSON([]byte(text)); !errors.Is(err, ErrLabels) || l != MustLabels("a", "b") {
			t.Errorf("%s: %s, %v; want ErrLabels", text, l, err)
		}
	}
	var l Labels
	if err := l.UnmarshalJSON([]byte(" {\"a\":\"\\ud83d\\ude00 \\\\ud800 \\u00e9\"}\n")); err != nil || l != MustLabels("a", "\U0001f600 \\ud800 é") {
		t.Errorf("%s, %v", l, err)
	}
}

// checkLabelsJSON checks that what UnmarshalJSON accepts is one value of JSON, and comes
// back as it was.
func checkLabelsJSON(t *testing.T, text []byte) {
	t.Helper()
	var l, again Labels
	err := l.UnmarshalJSON(text)
	if err != nil {
		if !errors.Is(err, ErrLabels) {
			t.Errorf("%q: %v; want ErrLabels", text, err)
		}
		return
	}
	made, err := l.MarshalJSON()
	if err == nil {
		err = again.UnmarshalJSON(made)
	}
	if err != nil || again != l || !json.Valid(text) || bytes.Contains(made, []byte("\ufffd")) && !bytes.Contains(text, []byte("\ufffd")) && !bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) {
		t.Errorf("%q became %s, and then %s; %v", text, l, again, err)
	}
}

// FuzzLabels makes labels of two names and values, and compares both text forms and the
// order with what they are defined by. What ParseLabels accepts has one text, and so does
// what UnmarshalJSON accepts.
func FuzzLabels(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("a", "\x00", "a\x00", "\x01")
	f.Add(`{a="b", c="d"}`, "", "{ }", "x")
	f.Add("x", `{"a":"\ud800\\udc00"}`, "", "")
	f.Add("größe", "\u2028\ufffd<&>", "k8s.io/pod", `"`)
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if l, err := ParseLabels(a); err == nil {
			checkLabelsText(t, l)
		}
		checkLabelsJSON(t, []byte(b))
		var all []Labels
		for _, list := range [][]Label{{{a, b}}, {{c, d}}, {{a, b}, {c, d}}, {{a, d}}, {}} {
			l, err := NewLabels(list...)
			if err != nil {
				continue
			}
			checkLabelsText(t, l)
			all = append(all, l)
		}
		for _, l := range all {
			for _, m := range all {
				if got, want := l.Compare(m), strings.Compare(l.sortKey(), m.sortKey()); cmp.Compare(got, 0) != want {
					t.Errorf("%s compared with %s: %d, want %d", l, m, got, want)
				}
			}
		}
	})
}
