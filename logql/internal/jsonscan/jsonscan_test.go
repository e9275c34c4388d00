package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func fields(line string) (string, error) {
	var s Scanner
	var f Field
	var out []string
	for s.Init([]byte(line)); s.Next(&f); {
		out = append(out, fmt.Sprintf("%s=%d:%s", f.Key, f.Value.Kind, f.Value.Raw))
	}
	return strings.Join(out, " "), s.Err()
}

func TestFields(t *testing.T) {
	for _, c := range []struct {
		line, want string
		err        error
	}{
		{`{}`, "", nil},
		{` { "a" : 1 , "b":"x y", "c":{"d":[1]}, "e":[{}], "f":true,"g":null } `, "a=1:1 b=0:x y c=4:{\"d\":[1]} e=5:[{}] f=2:true g=3:null", nil},
		{`{"a":"\"}","b":2}`, `a=0:\"} b=1:2`, nil},
		{`{"a":1,}`, "a=1:1", nil},
		{`{"a":1} more`, "a=1:1", nil},
		{`{"a":01x}`, "a=1:01x", nil},
		{`{"long text of a key that is long":"value that is longer than the short ones are"}`, "long text of a key that is long=0:value that is longer than the short ones are", nil},
		{`{"long":"value that is longer than the short ones \" are"}`, `long=0:value that is longer than the short ones \" are`, nil},
		{``, "", ErrObject}, {`x`, "", ErrObject}, {`{`, "", ErrSyntax}, {`{"a`, "", ErrSyntax}, {`{"a"`, "", ErrSyntax}, {`{"a":`, "", ErrSyntax},
		{`{"a":1`, "a=1:1", ErrArray}, {`{"a":1,`, "a=1:1", ErrArray}, {`{"a":1 "b":2}`, "a=1:1", ErrObject}, {`{"a":"x`, "", ErrString},
		{`{"a":[1`, "", ErrArray}, {`{"a":{"b":1`, "", ErrObject}, {`{"a":tru}`, "", ErrValue}, {`{"a":}`, "", ErrValue}, {`{a:1}`, "", ErrObject},
		{`{"a":"x\`, "", ErrString}, {`{"a":{"x`, "", ErrObject},
	} {
		got, err := fields(c.line)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %s, %v; want %s, %v", c.line, got, err, c.want, c.err)
		}
	}
}

func TestUnescape(t *testing.T) {
	for raw, want := range map[string]string{
		`a\nb\t\"\\\/\b\f\r`: "a\nb\t\"\\/\b\f\r", `\u00e9\ud83d\ude00`: "é😀", ``: "", `\uD83D\uDE00`: "😀",
	} {
		if got, ok := AppendUnescaped([]byte("x"), []byte(raw)); !ok || string(got) != "x"+want {
			t.Errorf("%s: %q, %v; want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{`\x`, `\`, `\u12`, `\u12g4`, `\ud83d`, `\ud83dx`, `\ud83d\u0041`, `\ude00`, `ab\`} {
		if got, ok := AppendUnescaped([]byte("x"), []byte(raw)); ok || string(got) != "x" {
			t.Errorf("%s: %q, %v; want none", raw, got, ok)
		}
	}
}

func TestGet(t *testing.T) {
	const data = `{"a":{"b":[1,{"c":"d"},[2,3]]},"x y":{"p.q":7},"\u0061b":8,"a":9}`
	for path, want := range map[string]string{
		`a.b[0]`: "1", `a.b[1].c`: "d", `a.b[2][1]`: "3", `["x y"]["p.q"]`: "7", `ab`: "8", `a["b"][0]`: "1", `a`: `{"b":[1,{"c":"d"},[2,3]]}`,
		`a.c`: "-", `a.b[9]`: "-", `a.b.c`: "-", `a[0]`: "-", `q`: "-", `a.b[0].c`: "-",
	} {
		p, err := ParsePath(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		v, found, err := Get([]byte(data), p)
		if got := string(v.Raw); found != (want != "-") || found && got != want || err != nil {
			t.Errorf("%s: %q, %v, %v; want %q", path, got, found, err, want)
		}
	}
}

func TestPathErrors(t *testing.T) {
	for _, path := range []string{"", ".", "a.", "a..b", "a[", "a[x]", "a[-1]", "a]", "a b", "a-b", "9", "[", `["a`, `["a"`, "a[99999999999]", ".a", strings.Repeat("[0]", MaxPath+1)} {
		if p, err := ParsePath(path); err == nil {
			t.Errorf("%q: %v; want an error", path, p)
		}
	}
}

// FuzzScanner compares with encoding/json where that finds an object.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":"x\n","c":{"d":[1,"]"]}}`, `{}`, `{"a":`, `[1]`, `{"\u0061":"\ud83d\ude00"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Scanner
		var field Field
		seen := 0
		var want map[string]json.RawMessage
		valid := json.Unmarshal(data, &want) == nil && want != nil
		got := map[string][]byte{}
		for s.Init(data); s.Next(&field); {
			if seen++; seen > len(data) {
				t.Fatal("more fields than bytes")
			}
			key, ok := AppendUnescaped(nil, field.Key)
			raw := field.Value.Raw
			if field.Value.Kind == String {
				raw = append(append([]byte{'"'}, raw...), '"')
			}
			if ok && utf8.Valid(key) {
				got[string(key)] = raw
			} else {
				valid = false
			}
		}
		if !valid {
			return
		}
		if s.Err() != nil {
			t.Fatalf("%s: %v", data, s.Err())
		}
		for key, raw := range want {
			if utf8.ValidString(key) && !strings.ContainsRune(key, utf8.RuneError) && !bytes.Equal(bytes.TrimSpace(raw), got[key]) {
				t.Fatalf("%s: %q: %s; want %s", data, key, got[key], raw)
			}
		}
	})
}

func FuzzGet(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":"d"}]}}`), "a.b[1].c")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		if p, err := ParsePath(path); err == nil {
			if v, found, _ := Get(data, p); found && !bytes.Contains(data, v.Raw) {
				t.Fatalf("%s in %s: %s", path, data, v.Raw)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"time":"2026-03-01T10:00:47.123Z","level":"error","msg":"request \"GET /api\" failed","status":500,"took":"1.25s","user":{"id":42,"name":"bob"},"tags":["a","b"],"size":2048,"ok":false}`)
	b.Run("by=jsonscan", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			var s Scanner
			var f Field
			for s.Init(line); s.Next(&f); {
			}
		}
	})
	b.Run("by=encoding/json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			json.Valid(line)
		}
	})
}
