package logstore_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A codecMutant is a fault in the codec of columns, or in how it is searched, and the tests
// that must see it.
type codecMutant struct {
	name     string
	file     string // below logstore
	old, new string // the text of the file that is replaced, which is there once
	tests    string // an expression for the tests
	in       string // their package, below logstore
}

var codecMutants = []codecMutant{
	{
		"a dictionary has no copy", "internal/segment2/writetemplates.go",
		"for i, d := range t.full {\n\t\ts := section{kind: TypeDictionaryFrame", "for i, d := range t.full[:0] {\n\t\ts := section{kind: TypeDictionaryFrame",
		"TestDictionary$|TestDictionaryDamagedTwice", "internal/segment2",
	},
	{
		"a merge does not rewrite the table of a block", "internal/segment2/writetemplates.go",
		"func(uint32) uint32 {\n\t\ti++\n\t\tt.table[i].ID = t.ids[i]\n\t\treturn t.ids[i]", "func(old uint32) uint32 {\n\t\ti++\n\t\tt.table[i].ID = t.ids[i]\n\t\treturn old",
		"TestDictionary$|TestMergeOfDictionaries", "internal/segment2",
	},
	{
		"a merge does not renumber the tables of the index", "internal/segment2/writetemplates.go",
		"t.table[i].ID = t.ids[i]\n\t\treturn", "return",
		"TestDictionary$|TestMergeOfDictionaries", "internal/segment2",
	},
	{
		"a damaged copy of a dictionary is taken", "internal/segment2/dictionary.go",
		"if checksum(stored) != f.sum {", "if false {",
		"TestDictionaryDamage", "internal/segment2",
	},
	{
		"the filter of variables is asked for words of literals", "internal/template/index.go",
		"&& isASCII(word) && !x.has(word, n.kind == Folded) {", "&& isASCII(word) {",
		"TestSearchColumns", "",
	},
	{
		"half a needle in a literal is none", "internal/template/plan.go",
		"case reachSlot, reachAcross:\n\t\treturn Maybe", "case reachSlot:\n\t\treturn Maybe\n\tcase reachAcross:\n\t\treturn Never",
		"TestNeedle|TestQuery", "internal/template",
	},
	{
		"rows that may match are left out", "columnsearch.go",
		"!hasRow(found.May, p.row)", "!hasRow(found.Sure, p.row)",
		"TestSearchColumns", "",
	},
	{
		"rows that may match are not tested", "match.go",
		"hasRow(r.sure, p.row) || test(p)", "hasRow(r.sure, p.row) || test(p) || true",
		"TestSearchColumns", "",
	},
	{
		"letters in one case match those in both", "regexp.go",
		"&& !(a.folds && a.cased)", "",
		"TestSearchColumns", "",
	},
	{
		"a block is counted whole of which not all streams are selected", "countmatches.go",
		"if len(l.part.only) != len(l.part.runs) {", "if false {",
		"TestCountColumns", "",
	},
	{
		"a block is counted whole that has deleted entries", "countblock.go",
		"len(l.in.gone) == 0 &&", "",
		"TestCountColumns", "",
	},
	{
		"fields tell of rows with metadata", "fieldblock.go",
		"if f.dropMetadata(&r.block); !f.takesSome() {", "if !f.takesSome() {",
		"TestFieldFilter$", "",
	},
	{
		"rows that fields do not tell of are left out", "fieldfilter.go",
		"return hasRow(f.taken, p.row) && !hasRow(f.passed, p.row)", "return !hasRow(f.passed, p.row)",
		"TestFieldFilter$", "",
	},
	{
		"a verdict is that of the row before", "fieldfilter.go",
		"if hasRow(f.matching, int32(row)) {", "if hasRow(f.matching, int32(max(row-1, 0))) {",
		"TestFieldFilter$", "",
	},
	{
		"rows that meet the rest are taken for matches", "fieldfilter.go",
		"&& (r.judged == nil || hasRow(r.judged, p.row))", "",
		"TestFieldFilter$", "",
	},
	{
		"a limit drops one row too many", "picks.go",
		"r.picks = r.picks[:i+1]", "r.picks = r.picks[:i]",
		"TestLimitOfColumns", "",
	},
	{
		"a limit counts rows that may match", "picks.go",
		"if r.isSure(p) {\n\t\t\tleft--\n\t\t}\n\t\treturn left == 0", "left--\n\t\treturn left == 0",
		"TestLimitCountsSureLines", "",
	},
	{
		"a limit is looked for before rows are in order", "picks.go",
		"r.orderPicks(l, true)\n\t\tr.order.done = true", "r.order.done = r.order.limited",
		"TestLimitOfColumns", "",
	},
	{
		"lines that were not made for a share are forgotten", "task_entries.go",
		"len(picks) - n + r.cut.left; left > 0", "len(picks) - n; left > 0",
		"TestReadsOfUnevenBlocks", "",
	},
	{
		"lines that were not made for a share come too late", "cutpicks.go",
		"c.first = min(c.first, k)", "",
		"TestReadsOfUnevenBlocks", "",
	},
	{
		"lines that a filter may drop are counted for a share", "cutpicks.go",
		"r.filter() != nil || ", "",
		"TestLinesOfSharesAreMadeOnce", "",
	},
}

// Each fault is seen by the tests of its package: else these prove nothing of the codec.
func TestCodecMutants(t *testing.T) {
	if os.Getenv("STELE_LONG") != "1" {
		t.Skip("builds package logstore with each of some faults; STELE_LONG=1 does")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range codecMutants {
		t.Run(m.name, func(t *testing.T) {
			test := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-overlay="+m.overlay(t, root), "-run", m.tests, "./"+filepath.Join("logstore", m.in))
			test.Dir = root
			out, err := test.CombinedOutput()
			if err == nil {
				t.Errorf("%s sees nothing", m.tests)
			} else if !strings.Contains(string(out), "--- FAIL: ") && !strings.Contains("\n"+string(out), "\npanic: ") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// overlay makes the file that tells the go command to build the fault.
func (m *codecMutant) overlay(t *testing.T, root string) string {
	t.Helper()
	file := filepath.Join(root, "logstore", filepath.FromSlash(m.file))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		t.Fatalf("%s has %d times %q; want it once: make the fault anew", m.file, n, m.old)
	}
	dir := t.TempDir()
	faulty, overlay := filepath.Join(dir, "faulty.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: faulty}})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string][]byte{faulty: []byte(strings.Replace(string(text), m.old, m.new, 1)), overlay: replace} {
		if err := os.WriteFile(name, p, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
