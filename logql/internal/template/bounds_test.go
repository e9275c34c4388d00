package template

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/testseed"
)

// TestBombsMakeLittle are templates of which functions would make hundreds of megabytes
// before any of it is written.
func TestBombsMakeLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops what sync.Pool keeps: expressions make their memory anew at each match")
	}
	labels := map[string]string{"a": strings.Repeat("x", 10_000), "j": "[" + strings.Repeat(`"x",`, 5000) + `"x"]`,
		"e": "[" + strings.Repeat(`"",`, 20_000) + `""]`}
	for _, text := range []string{
		"{{printf `" + strings.Repeat("%[1]s", 8_000) + "` .a}}",
		"{{printf `" + strings.Repeat("%[1]q", 8_000) + "` (fromJson .j)}}",
		"{{printf `" + strings.Repeat("%[1]*[2]d", 300) + "` 1000000 1}}",
		"{{printf `%100000v` (fromJson .j)}}",
		"{{regexReplaceAll `(x+)` .a `" + strings.Repeat("$1", 8_000) + "`}}",
		"{{regexReplaceAll `" + strings.Repeat("()", 900) + "` .a ``}}",
		"{{$j := fromJson .j}}{{print " + strings.Repeat("$j ", 4_000) + "}}",
		"{{$j := fromJson .j}}{{js " + strings.Repeat("$j ", 4_000) + "}}",
		"{{$e := fromJson .e}}{{print " + strings.Repeat("$e ", 1_000) + "}}",
		"{{printf `" + strings.Repeat("%[99999999][1]s%s", 4_000) + "` .a .a}}",
		"{{$d := (unixToTime `1700000000001000`).Sub (unixToTime `1700000000000001`)}}{{printf `" + strings.Repeat("%[1]*[2]d", 300) + "` $d 1}}",
		"{{$l := (toDateInZone `2006` `Europe/Berlin` `2020`).Location}}{{printf `%50000d` $l}}",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := execute(t, text, 1<<20, labels)
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; err == nil || out != "" || made > 64<<20 {
			t.Errorf("%.60s: %d bytes, %d allocated, %v; want an error, and at most 64 MiB allocated", text, len(out), made, err)
		}
	}
}

// Texts that are long, and not too long, are made.
func TestLongTexts(t *testing.T) {
	labels := map[string]string{"a": strings.Repeat("x", 900_000), "b": strings.Repeat("<", 100_000)}
	for text, want := range map[string]int{
		"{{printf `%s %5d%%` .a 7}}": 900_007, "{{printf `%-10v|%v` .a true}}": 900_005, "{{print .a .b}}": 1_000_000, "{{html .b}}": 400_000, "{{js .a}}": 900_000,
		"{{urlencode .b}}": 300_000, "{{b64enc .b}}": 133_336, "{{regexReplaceAll `(x+)` .a `$1$2$3`}}": 900_000, "{{alignLeft 1000000 .a}}": 1_000_000, "{{urlquery .a}}": 900_000,
	} {
		out, err := execute(t, text, 1<<20, labels)
		if err != nil || len(out) != want {
			t.Errorf("%s: %d bytes, %v; want %d", text, len(out), err, want)
		}
	}
}

// No text of fmt.Sprintf is longer than its bound.
func TestFormatBound(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	pieces := []string{"%", "%", "%", "s", "v", "d", "q", "x", "X", "f", "t", "b", "w", "U", "[1]", "[2]", "[3]", "[", "]", "[9]", "[x]", "[99999999]", "*", ".", "#", "+", "-", " ", "0", "7", "30", "99999999", "é", "text"}
	values := []any{"", "a\x00é\xff\U0001f600", strings.Repeat("\x01", 300), 5, -40, int64(60), 1e308, true, nil, time.Unix(0, 0).UTC(), map[string]any{"k": []any{"x", 1.5, nil}},
		[]any{"a", "b", []any{"c"}}, map[string]string{"a": "b"}, 2_000_000, []any{"", "", "", ""}, time.Duration(700), time.March, uint8(9), time.FixedZone("z", 60)}
	for range 20_000 {
		var format strings.Builder
		for range r.IntN(12) {
			format.WriteString(pieces[r.IntN(len(pieces))])
		}
		var args []any
		for range r.IntN(5) {
			args = append(args, values[r.IntN(len(values))])
		}
		if got, bound := len(fmt.Sprintf(format.String(), args...)), formatBound(format.String(), args); got > bound {
			t.Fatalf("seed %d: %q of %q: %d bytes; the bound is %d", seed, format.String(), args, got, bound)
		}
	}
}

func FuzzFormatBound(f *testing.F) {
	f.Add("%[2]*.[1]*[3]v %#q", "text", 5, int64(7))
	f.Fuzz(func(t *testing.T, format, a string, b int, c int64) {
		for _, args := range [][]any{{a, b, c}, {b, a, c}, {map[string]any{a: []any{a, c}}, b}, {}} {
			if got, bound := len(fmt.Sprintf(format, args...)), formatBound(format, args); got > bound {
				t.Fatalf("%q of %q: %d bytes; the bound is %d", format, args, got, bound)
			}
		}
	})
}

// A template of a query that has ended stops in the middle of a line, and makes nothing of
// those that follow.
func TestEnded(t *testing.T) {
	for _, text := range []string{"{{range 9000}}{{end}}", "{{range 9000}}{{$x := upper $.a}}{{end}}", "{{" + strings.Repeat("upper (", 500) + ".a" + strings.Repeat(")", 500) + "}}"} {
		c, err := Compile("line", text, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		names, _ := c.Fields()
		asked := 0
		e := c.NewExec(&line{names, map[string]string{"a": strings.Repeat("x", 10_000)}, "l"}, func() bool {
			asked++
			return asked == 3
		})
		if _, err := e.Append(nil); !errors.Is(err, errEnded) {
			t.Errorf("%.40s: %v; want %v", text, err, errEnded)
		}
		if _, err := e.Append(nil); !errors.Is(err, errEnded) || asked != 3 {
			t.Errorf("%.40s, the next line: %v, asked %d times; want %v, and 3", text, err, asked, errEnded)
		}
	}
}
