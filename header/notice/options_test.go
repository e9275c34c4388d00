package notice

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Action: "add", Text: "a"}, `notice: Options.Action: "add"; want "check", "insert", "replace" or "remove"`},
		{Options{Action: Insert}, `notice: Options.Text: ""; want the text of the notice`},
		{Options{Action: Replace, Markers: []string{"a"}}, `notice: Options.Text: ""; want the text of the notice`},
		{Options{Action: Remove}, `notice: Options.Text: ""; want the text of the notice, or Markers`},
		{Options{Exact: true}, `notice: Options.Text: ""; want the text of the notice, which Exact needs`},
		{Options{Action: Insert, Text: " \n{{.Year}}\n"}, ""},
		{Options{Action: Insert, Text: " \n\t"}, `notice: Options.Text: " \n\t"; want a text that is not empty`},
		{Options{Action: Insert, Text: "a\x00"}, `notice: Options.Text: "a\x00"; want no NUL and no carriage return without a line feed`},
		{Options{Action: Insert, Text: "{{.Name}}" + strings.Repeat("x", 100)}, `notice: Options.Text: "{{.Name}}` + strings.Repeat("x", 51) + `"...; want a template of {{.Year}} and {{.File}}: `},
		{Options{Action: Replace, Text: "a", Old: "{{"}, `notice: Options.Old: "{{"; want a template of {{.Year}} and {{.File}}: `},
		{Options{Markers: []string{"a", " "}}, `notice: Options.Markers: " "; want a word: every comment contains this one`},
		{Options{Styles: []string{"a b c"}}, `notice: Options.Styles: "a b c"; want the beginning of each line ("#"), an opening and a closing mark ("/* */"), or "none"`},
		{Options{Styles: []string{".x=#", ".x=//"}}, `notice: Options.Styles: ".x=//"; want one style for .x`},
		{Options{}, ""},
	} {
		_, err := New(c.o)
		switch {
		case c.want == "" && err == nil:
		case c.want == "" || err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, fs.ErrInvalid):
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
}
