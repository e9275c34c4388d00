package mkdir

import (
	"errors"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a", "a"}, {"a/b/c", "a/b/c"}, {".", "."}, {"./a", "a"}, {"a/.", "a"}, {"a//b/", "a/b"},
		{"a/../b", "b"}, {"a/b/../..", "."}, {"..a/b..", "..a/b.."}, {"...", "..."},
		{"", ""}, {"/", ""}, {"/a", ""}, {"..", ""}, {"../a", ""}, {"a/../../b", ""}, {"a\x00b", ""},
		{strings.Repeat("a/", 2049), ""},
		{strings.Repeat("a/", 2048), strings.TrimSuffix(strings.Repeat("a/", 2048), "/")},
	} {
		got, err := clean(c.in)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("clean(%.50q) = %.50q, %v, want %.50q", c.in, got, err, c.want)
		}
		if err != nil && err != errTooLong && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("clean(%q): %v is not fs.ErrInvalid", c.in, err)
		}
	}
}

// FuzzClean compares clean with path.Clean, and the paths that it accepts with
// fs.ValidPath, except for UTF-8: a file name may be any bytes.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", ".", "..", "/", "a", "a/b", "a//b", "./a", "a/..", "../a", "a/../..", "a/.b/..c", "a\x00", "a/b/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if runtime.GOOS == "windows" {
			t.Skip("backslashes and reserved names")
		}
		got, err := clean(s)
		want := path.Clean(s)
		valid := s != "" && !strings.Contains(s, "\x00") && len(want) < maxPath &&
			fs.ValidPath(strings.ToValidUTF8(want, "?"))
		if (err == nil) != valid {
			t.Fatalf("clean(%q) = %q, %v; acceptable: %v", s, got, err, valid)
		}
		if err == nil && got != want {
			t.Fatalf("clean(%q) = %q, want %q", s, got, want)
		}
		if isClean(s) != (valid && s == want) && len(want) < maxPath {
			t.Fatalf("isClean(%q) = %v", s, isClean(s))
		}
	})
}
