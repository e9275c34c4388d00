package template

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// usual are templates of the functions that a program has.
var usual = []string{
	"{{.a | ToUpper}} {{lower .b}}", "{{trunc 3 .b}}|{{.b | trunc -2}}|{{substr 1 3 .b}}", `{{replace "y" "<y>" .b}} {{Replace .b " " "" 1}}`,
	`{{printf "%-10s|%5s|%.1s|%v%%" .a .b .b (.a | upper)}}`, `{{__timestamp__ | date "2006-01-02T15:04:05.000Z07:00"}} {{__line__}}`, `{{date "Jan 2" (unixToTime .t)}}`,
	`{{if eq .a "x"}}X{{else if hasPrefix "y" .b}}Y{{else}}Z{{end}}`, `{{alignLeft 6 .b}}|{{alignRight 6 .a}}`, `{{trimPrefix "y" .b | TrimSpace | default "none"}}`,
	`{{unixEpoch __timestamp__}} {{__timestamp__ | unixEpochNanos}} {{contains "z" .b}}`,
}

func TestProgramsAllocateNothing(t *testing.T) {
	for _, text := range usual {
		c, err := Compile("line", text, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		names, _ := c.Fields()
		fields := make([][]byte, len(names))
		for i, name := range names {
			fields[i] = []byte(map[string]string{"a": "x", "b": "y z", "t": "1614834367"}[name])
		}
		e := c.NewExec(stillLine(fields), nil)
		var buf []byte
		if n := testing.AllocsPerRun(100, func() {
			if buf, err = e.Append(buf[:0]); err != nil {
				t.Fatal(err)
			}
		}); n != 0 || e.slow != nil {
			t.Errorf("%s: %v allocations, by text/template %v; want 0, false", text, n, e.slow != nil)
		}
	}
}

// A stillLine has labels that do not change.
type stillLine [][]byte

func (l stillLine) Field(i int) []byte                  { return l[i] }
func (l stillLine) All(func(name string, value []byte)) {}
func (l stillLine) Line() []byte                        { return []byte(nil) }
func (l stillLine) Time() int64                         { return 1614834367_000000000 }

// Programs make what text/template makes, errors included.
func TestProgramsAreTemplates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	var text func(depth int) string
	text = func(depth int) string {
		if depth == 0 {
			return pick(".a", ".b", ".t", ".none", `"y"`, `"é"`, `""`, "__line__")
		}
		n, s := fmt.Sprint(rng.IntN(12)-3), "("+text(depth-1)+")"
		switch rng.IntN(9) {
		case 0:
			return pick("ToUpper ", "lower ", "trim ", "TrimSpace ") + s
		case 1:
			return s + " | " + pick("upper", "trunc "+n, "substr 1 "+n, "alignLeft "+n, "alignRight "+n, `replace "y" "zz"`, `default "d"`)
		case 2:
			return pick("Trim ", "TrimLeft ", "TrimPrefix ", "trimAll ", "trimSuffix ", "default ") + s + " (" + text(depth-1) + ")"
		case 3:
			return "Replace " + s + " " + text(0) + " " + text(0) + " " + n
		case 4:
			return fmt.Sprintf("printf %q %s %s", pick("%s", "%-6s%s", "%5.2s|%v", "%%%s", "%d %s", "%s", "%06s%s", "a%5v%-3.1s é", "%s%s%s", "%q%x"), s, text(0))
		case 5:
			if rng.IntN(3) == 0 {
				return pick(`date "2006" `, "unixEpoch ") + text(0) // date of a text is that of now
			}
			return pick(`date "2006-01-02 15:04" `, "unixEpoch ", "unixEpochMillis ") + pick("__timestamp__", "(unixToTime "+text(0)+")")
		case 6:
			return pick("contains ", "hasPrefix ", "hasSuffix ", "eq ", "ne ") + text(0) + " " + s
		case 7:
			return "print " + s
		}
		return text(0)
	}
	fast, long := 0, strings.Repeat("xyz é", 30)
	for range 800 {
		source := "<{{" + text(rng.IntN(4)) + "}}>"
		if rng.IntN(3) == 0 {
			source += "{{if " + text(rng.IntN(3)) + "}}{{" + text(1) + "}}{{else}}no{{end}}"
		}
		labels := map[string]string{"a": pick("x", "", "ABC", " y ", "straße", "\xff\xfe", long), "b": pick("y z", "yyy", "日本語", "y"), "t": pick("1614834367", "x", "16148")}
		limit := []int{1 << 20, 300, 40}[rng.IntN(3)]
		c, err := Compile("line", source, limit)
		if err != nil {
			continue
		}
		program := c.program
		got, gotErr := executeCompiled(c, labels)
		c.program = nil
		want, wantErr := executeCompiled(c, labels)
		if got != want || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("%s of %q, %d bytes: %q, %v; want %q, %v", source, labels, limit, got, gotErr, want, wantErr)
		}
		if program != nil {
			fast++
		}
	}
	if fast < 250 {
		t.Errorf("only %d are programs", fast)
	}
}

func executeCompiled(c *Template, labels map[string]string) (string, error) {
	names, _ := c.Fields()
	out, err := c.NewExec(&line{names, labels, "the line y"}, nil).Append(nil)
	return string(out), err
}
