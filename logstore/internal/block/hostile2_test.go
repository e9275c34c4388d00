package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/column"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// blockParts are the parts of a block of version 2.
type blockParts struct {
	rows  int
	table []TemplateRows
	head  head2
	raw   [][]byte // sections
}

// takeApart returns the parts of a block.
func takeApart(t testing.TB, p []byte, dictionary *template.Dictionary) (all blockParts) {
	t.Helper()
	var d Decoder
	if err := d.Open(p, dictionary); err != nil {
		t.Fatal(err)
	}
	v := &d.version2
	all = blockParts{rows: v.header.rows, table: v.table, head: v.head}
	for id := range v.stored {
		raw, _, err := v.section(id, nil)
		if err != nil {
			t.Fatal(err)
		}
		all.raw = append(all.raw, raw)
	}
	return all
}

// append returns the block of the parts, of which nothing is compressed, so that reseal2 can
// mend it.
func (all *blockParts) append() []byte {
	all.head.sections = nil
	for _, p := range all.raw {
		all.head.sections = append(all.head.sections, section{raw: uint32(len(p)), stored: uint32(len(p))})
	}
	table, head := appendTable(nil, all.table), all.head.append(nil)
	h := header2{rows: all.rows, templates: len(all.table), table: uint32(len(table)), headStored: uint32(len(head)), headRaw: uint32(len(head)), times: [section2Rows]section(all.head.sections)}
	p := make([]byte, header2Size)
	h.put(p)
	p = slices.Concat(p, table, slices.Concat(all.raw[:section2Rows]...), head, slices.Concat(all.raw[section2Rows:]...))
	reseal2(p)
	return p
}

// expand returns a block of version 2 of which nothing is compressed.
func expand(t testing.TB, p []byte, dictionary *template.Dictionary) []byte {
	t.Helper()
	all := takeApart(t, p, dictionary)
	return all.append()
}

// reseal2 recomputes the checksums of a block of version 2 whose head is not compressed, of
// what lies within it.
func reseal2(p []byte) {
	if len(p) < header2Size {
		return
	}
	le := binary.LittleEndian
	rest := p[header2Size:]
	if n := uint64(le.Uint32(p[24:])); n <= uint64(len(rest)) {
		le.PutUint32(p[28:], checksum(rest[:n]))
		rest = rest[n:]
		for _, at := range [...]int{32, 44} { // times and time bits
			n := min(uint64(le.Uint32(p[at:])), uint64(len(rest)))
			sum := p[at+4:]
			if at == 32 {
				sum = p[at+8:]
			}
			if le.PutUint32(sum, 0); n > 0 {
				le.PutUint32(sum, checksum(rest[:n]))
			}
			rest = rest[n:]
		}
		if n := uint64(le.Uint32(p[8:])); n <= uint64(len(rest)) {
			resealSections(rest[:n], rest[n:], int(min(le.Uint32(p[16:]), maxTemplates)))
			le.PutUint32(p[20:], checksum(rest[:n]))
		}
	}
	le.PutUint32(p[header2SumAt:], checksum(p[:header2SumAt]))
}

// resealSections recomputes the checksums of the sections in a head.
func resealSections(head, stored []byte, templates int) {
	number := func() uint64 {
		v, n := binary.Uvarint(head)
		head = head[max(n, 0):]
		return v
	}
	columns := number()
	for range templates {
		for range min(number(), uint64(len(head))) {
			number()
		}
	}
	for range min(3*columns, uint64(len(head))) {
		number()
	}
	for range min(number(), uint64(len(head))) {
		size := number()
		size -= number()
		if size > uint64(len(stored)) || len(head) < 4 {
			return
		}
		sum := uint32(0)
		if size > 0 {
			sum = checksum(stored[:size])
		}
		binary.LittleEndian.PutUint32(head, sum)
		head, stored = head[4:], stored[size:]
	}
}

// hostileRows are rows with columns of many kinds, a few of each.
func hostileRows() []row {
	rows := serviceRows(40)
	for i := range rows[:10] {
		rows[i].line += " plain \xff"
	}
	return rows
}

// A hostileTest is a test of lines that a block of anyone is searched for.
type hostileTest struct {
	of    *template.Plan
	holds func(line []byte) bool
}

func hostileTests(dictionary *template.Dictionary, needle string) (list []hostileTest) {
	add := func(x *template.Expr, holds func(line []byte) bool) {
		list = append(list, hostileTest{template.NewPlan(template.NewQuery(x), dictionary), holds})
	}
	for kind := range template.NeedleKind(3) {
		n := template.NewNeedle([]byte(needle), kind)
		add(template.Has(n), func(line []byte) bool {
			switch kind {
			case template.Folded:
				return filter.ContainsFold(line, n.Text())
			case template.Word:
				return filter.HasWord(line, n.Text(), false)
			}
			return bytes.Contains(line, n.Text())
		})
	}
	for _, s := range []string{`[0-9]{3}`, `^[A-Z]+ .*[0-9]\.`, regexp.QuoteMeta(strings.ToValidUTF8(needle, "."))} {
		re := regexp.MustCompile(s)
		add(template.Regexp(nil, re), re.Match)
	}
	return list
}

// A hostileReader reads blocks that may have been made by anyone.
type hostileReader struct {
	d      *Decoder
	fields FieldRows
	needle string
	tests  []hostileTest // with the needle
}

// told returns an error, which is that of such a block.
func told(t *testing.T, err error) error {
	t.Helper()
	_, later := errors.AsType[*VersionError](err)
	if err != nil && !errors.Is(err, ErrDamaged) && !later {
		t.Fatalf("an error of another kind: %v", err)
	}
	return err
}

// search compares what a search and a count tell with the lines that a search finds, and
// returns a comparison with all lines.
func (h *hostileReader) search(t *testing.T, p []byte, dictionary *template.Dictionary, test hostileTest) (compare func()) {
	t.Helper()
	compare = func() {}
	d := h.d
	if told(t, d.Open(p, dictionary)) != nil {
		return compare
	}
	n, counted, err := d.Count(test.of)
	counted = told(t, err) == nil && counted
	if told(t, d.Open(p, dictionary)) != nil {
		return compare
	}
	m, ok, err := d.Search(test.of)
	if told(t, err) != nil || !ok {
		return compare
	}
	may, sure := slices.Clone(m.May), slices.Clone(m.Sure)
	if counted && n != ones(may) {
		t.Fatalf("%d rows are counted; want %d", n, ones(may))
	}
	check := func(all bool) {
		for i := range d.Rows() {
			if hasBit(sure, i) && (!hasBit(may, i) || !test.holds(d.Line(i))) {
				t.Fatalf("row %d, %q, does not pass the test", i, d.Line(i))
			}
			if all && !hasBit(may, i) && test.holds(d.Line(i)) {
				t.Fatalf("row %d, %q, passes the test", i, d.Line(i))
			}
		}
	}
	if told(t, d.LinesOf(m.May)) == nil {
		check(false)
	}
	return func() { check(true) }
}

func ones(words []uint64) (n int) {
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}

// fieldsOf compares the fields of a block, which are read before its columns are open, with its
// lines.
func (h *hostileReader) fieldsOf(t *testing.T, p []byte, dictionary *template.Dictionary) {
	t.Helper()
	const fields = 12
	d := h.d
	if told(t, d.Open(p, dictionary)) != nil {
		return
	}
	rule := &column.Rule{Forbidden: [4]uint64{1 << '7'}, Doubtful: [4]uint64{1 << '.'}, Check: func(v []byte) bool { return len(v)%3 > 0 }}
	var plans []*FieldPlan
	for _, one := range d.Table() {
		var rules []*column.Rule
		for slot := range dictionary.At(one.ID).Slots() {
			rules = append(rules, []*column.Rule{rule, nil}[slot%2])
		}
		plans = append(plans, slotFields(dictionary.At(one.ID), fields, rules))
	}
	err := told(t, d.Fields(&h.fields, plans, fields))
	defer h.fields.Release()
	if err != nil || told(t, d.Lines()) != nil {
		return
	}
	of, err := d.RowTemplates()
	if told(t, err) != nil {
		t.Fatalf("no templates of rows with fields: %v", err)
	}
	for i, k := range of.Rows {
		tmpl, want := dictionary.At(of.Table[k].ID), true
		line := string(tmpl.Literal(0))
		for slot := range tmpl.Slots() {
			v := variableOf(slot, string(h.fields.Values[slot].AppendValue(nil, h.fields.Codes[slot][i])))
			want = want && (slot%2 == 1 || rule.Holds([]byte(v)))
			line += v + string(tmpl.Literal(slot+1))
		}
		whole := string(h.fields.Values[fields-1].AppendValue(nil, h.fields.Codes[fields-1][i]))
		if got := string(d.Line(i)); hasBit(h.fields.Known, i) != want || line != got || whole != got {
			t.Fatalf("row %d, %q, of %v, has variables that make %q, and pieces %q; it is known: %v; want %v", i, got, tmpl, line, whole, !want, want)
		}
	}
	checkFieldNumbers(t, &h.fields, fields)
}

// checkHostile reads a block that may have been made by anyone, in each way.
func checkHostile(t *testing.T, h *hostileReader, p []byte, dictionary *template.Dictionary, needle string) error {
	t.Helper()
	d := h.d
	if err := told(t, d.Open(p, dictionary)); err != nil {
		return err
	}
	var compare []func()
	if h.tests == nil || h.needle != needle {
		h.needle, h.tests = needle, hostileTests(dictionary, needle)
	}
	for _, test := range h.tests {
		compare = append(compare, h.search(t, p, dictionary, test))
	}
	h.fieldsOf(t, p, dictionary)
	if _, err := decodeWith(d, p, dictionary); told(t, err) != nil {
		return err
	}
	for _, f := range compare {
		f()
	}
	var lines []string
	for i := range d.Rows() {
		lines = append(lines, string(d.Line(i)))
	}
	one := make([]uint64, (d.Rows()+63)/64)
	for i := 0; i < d.Rows(); i += max(1, d.Rows()/5) {
		clear(one)
		one[i/64] = 1 << (i % 64)
		if err := told(t, d.Open(p, dictionary)); err != nil {
			return err
		}
		if err := told(t, d.LinesOf(one)); err == nil && string(d.Line(i)) != lines[i] {
			t.Fatalf("row %d alone is %q; want %q", i, d.Line(i), lines[i])
		}
	}
	return nil
}

// No bytes make a Decoder panic, and it reads the next block after them. Checksums are fixed,
// else nothing would get past them.
func FuzzDecoder2(f *testing.F) {
	e := Encoder{Miner: template.NewMiner()}
	want := hostileRows()
	good, dictionary := encode2(f, &e, want)
	good = expand(f, good, dictionary)
	f.Add(good, "GET /items")
	f.Add(good, "10.0.")
	f.Add(good, "7")
	h := hostileReader{d: new(Decoder)} // for all inputs of this process, which come one by one
	f.Fuzz(func(t *testing.T, p []byte, needle string) {
		p = bytes.Clone(p)
		reseal2(p)
		if len(p) > 0 && p[0] == version1 {
			return
		}
		_ = checkHostile(t, &h, p, dictionary, needle)
		got, err := decodeWith(h.d, good, dictionary)
		if err == nil {
			err = same(got, want)
		}
		if err != nil {
			t.Errorf("the next block: %v", err)
		}
	})
}

// TestMutated2 changes a few bytes at a time, with checksums that match.
func TestMutated2(t *testing.T) {
	e := Encoder{Miner: template.NewMiner()}
	good, dictionary := encode2(t, &e, hostileRows())
	good = expand(t, good, dictionary)
	h := hostileReader{d: new(Decoder)}
	if err := checkHostile(t, &h, good, dictionary, "GET"); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	refused := 0
	for range 1000 {
		p := bytes.Clone(good)
		for range 1 + rng.IntN(3) {
			i := rng.IntN(len(p))
			if rng.IntN(3) == 0 {
				i = rng.IntN(min(len(p), 400))
			}
			p[i] ^= 1 << rng.IntN(8)
		}
		p[0] = version2
		reseal2(p)
		if checkHostile(t, &h, p, dictionary, "GET") != nil {
			refused++
		}
	}
	if refused < 150 || refused == 1000 {
		t.Errorf("%d of 1000 are refused", refused)
	}
}
