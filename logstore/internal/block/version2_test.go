package block

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// decodeWith decodes a block with its dictionary.
func decodeWith(d *Decoder, p []byte, dictionary *template.Dictionary) ([]row, error) {
	times, err := d.Decode(p, dictionary)
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, t := range times {
		rows = append(rows, row{t, string(d.Line(i)), string(d.Meta(i))})
	}
	return rows, nil
}

// encode2 encodes rows as a block of version 2.
func encode2(t testing.TB, e *Encoder, rows []row) ([]byte, *template.Dictionary) {
	t.Helper()
	if e.Miner == nil {
		e.Miner = template.NewMiner()
	}
	p := encodeBy(t, e, rows)
	if p[0] != version2 {
		t.Fatalf("version %d", p[0])
	}
	return p, e.Templates()
}

func TestRoundTrip2(t *testing.T) {
	var e Encoder
	var d Decoder
	all := shapes()
	all["services"] = serviceRows(3000)
	for name, rows := range all {
		for range 2 { // once with the templates of the first time
			p, dictionary := encode2(t, &e, rows)
			got, err := decodeWith(&d, p, dictionary)
			if err == nil {
				err = same(got, rows)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			err = d.OpenTimes(p)
			var times []int64
			if err == nil {
				times, err = d.Times()
			}
			for i := range times {
				if times[i] != rows[i].time {
					err = fmt.Errorf("row %d is at %d; want %d", i, times[i], rows[i].time)
				}
			}
			if err != nil || len(times) != len(rows) {
				t.Errorf("%s: %d times, error %v", name, len(times), err)
			}
		}
	}
}

// serviceRows are like the lines of services.
func serviceRows(n int) (rows []row) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		at := 1_700_000_000_000_000_000 + int64(i)*1_234_567
		line := ""
		switch r.IntN(4) {
		case 0:
			line = fmt.Sprintf("GET /items/%d HTTP/1.1 %d took %d.%03d ms", r.IntN(1e6), 200+r.IntN(3), r.IntN(90), r.IntN(1000))
		case 1:
			line = fmt.Sprintf(`{"id":"%08x","user":"%s","n":%d}`, r.Uint32(), []string{"ann", "bob", "cem", "dee", "eve"}[r.IntN(5)], r.IntN(50))
		case 2:
			line = fmt.Sprintf("from 10.0.%d.%d:%d to /dev/null", r.IntN(4), r.IntN(250), 1000+r.IntN(60000))
		default:
			line = fmt.Sprint("once ", r.Uint64(), " \xff", r.IntN(2) == 0)
		}
		rows = append(rows, row{at, line, []string{"", "trace=1"}[i%2]})
	}
	return rows
}

// A merge gives a block another dictionary.
func TestRemapped(t *testing.T) {
	var e Encoder
	var d Decoder
	rows := serviceRows(500)
	p, dictionary := encode2(t, &e, rows)
	var other template.Dictionary
	for _, s := range []string{"a", "b", "c"} {
		other.Add(template.New([]byte(s)))
	}
	ids := make(map[uint32]uint32)
	for id := dictionary.Len() - 1; id >= 0; id-- {
		ids[uint32(id)], _ = other.Add(dictionary.At(uint32(id)))
	}
	again, err := Remap(nil, p, func(id uint32) uint32 { return ids[id] })
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeWith(&d, again, &other)
	if err == nil {
		err = same(got, rows)
	}
	if err != nil {
		t.Error(err)
	}
	if _, err := decodeWith(&d, again, dictionary); !errors.Is(err, ErrDamaged) {
		t.Errorf("with the wrong dictionary: %v", err)
	}
	if _, err := decodeWith(&d, again, nil); !errors.Is(err, ErrNoDictionary) {
		t.Errorf("without a dictionary: %v", err)
	}
}

// A column has at most maxValues values, and a block maxColumns columns.
func TestColumnIndex(t *testing.T) {
	var x columnIndex
	for range 2 {
		x.reset()
		for _, c := range []struct{ context, values, want uint32 }{
			{7, maxValues / 2, 0}, {7, maxValues / 2, 0}, {7, 1, 1}, {8, maxValues, 2}, {7, maxValues, 3}, {7, 5, 1},
		} {
			if n := x.number(c.context, c.values); n != c.want {
				t.Errorf("%d values of context %d have column %d; want %d", c.values, c.context, n, c.want)
			}
		}
		for c := range uint32(2 * maxColumns) {
			x.number(100+c, 2000) // 16 million in all
		}
		if len(x.values) != maxColumns {
			t.Errorf("%d columns; want %d", len(x.values), maxColumns)
		}
		for n, values := range x.values {
			if values > maxValues {
				t.Fatalf("column %d has %d values; want at most %d", n, values, maxValues)
			}
		}
	}
}

// TestDamage2 flips each bit of some bytes, and cuts the block.
func TestDamage2(t *testing.T) {
	var e Encoder
	var d Decoder
	rows := serviceRows(60)
	p, dictionary := encode2(t, &e, rows)
	for i := range p {
		p[i] ^= 1 << (i % 8)
		if _, err := decodeWith(&d, p, dictionary); !errors.Is(err, ErrDamaged) {
			if _, newer := errors.AsType[*VersionError](err); !newer {
				t.Errorf("byte %d: %v", i, err)
			}
		}
		p[i] ^= 1 << (i % 8)
		if _, err := decodeWith(&d, p[:i], dictionary); !errors.Is(err, ErrDamaged) {
			t.Errorf("the first %d bytes: %v", i, err)
		}
	}
	if got, err := decodeWith(&d, p, dictionary); err != nil || same(got, rows) != nil {
		t.Error("the block is not as it was")
	}
}

// What the texts and the packed bytes of columns have in common is stored once.
func TestSectionsShare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var hashes, lines []row
	for range 300 {
		hash := fmt.Sprintf("%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64())
		name := fmt.Sprintf("lib%s-%s", letters(r, 9), letters(r, 7))
		hashes = append(hashes, row{1, "open <" + hash + "> to read", ""}, row{2, "done <" + hash + "> now", ""})
		lines = append(lines, row{1, "Unpacking " + name + " ...", ""}, row{2, strings.Repeat(" - ", r.IntN(90)) + name + " ?", ""},
			row{3, fmt.Sprintf("%d of %d at %d.%d", r.IntN(9), r.IntN(9), r.IntN(9), r.IntN(9)) + strings.Repeat(" of all that there is", 9), ""})
	}
	for name, c := range map[string]struct {
		rows []row
		most int // bytes of the block
	}{
		"hashes in two columns":  {hashes, 300 * 30},
		"plain lines have names": {lines, 300 * 40},
	} {
		var e Encoder
		p, dictionary := encode2(t, &e, c.rows)
		got, err := decodeWith(new(Decoder), p, dictionary)
		if err == nil {
			err = same(got, c.rows)
		}
		if err != nil || len(p) > c.most {
			t.Errorf("%s: %d bytes, error %v; want at most %d", name, len(p), err, c.most)
		}
	}
}

func letters(r *rand.Rand, n int) string {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte('a' + r.IntN(26))
	}
	return string(p)
}

// makeCompressors makes the compressors that all encoders share, so that none makes its
// tables, which are in no weight, meanwhile.
func makeCompressors(t *testing.T) {
	t.Helper()
	for _, p := range []*compressorPool{defaultCompressors, betterCompressors} {
		var all []*compressor
		for range cap(p.free) {
			c := p.get()
			all = append(all, c)
			if _, _, err := c.append(nil, make([]byte, window)); err != nil {
				t.Error(err)
			}
		}
		for _, c := range all {
			p.put(c)
		}
	}
}

// A pool takes the memory of its compressors once no block has needed one for a while, but not
// of one that is lent.
func TestCompressorPool(t *testing.T) {
	p := newCompressorPool(zstd.SpeedBetterCompression)
	c := p.get()
	if _, _, err := c.append(nil, make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	for range 2 * maxUnasked {
		p.skip()
	}
	if c.zstd == nil {
		t.Error("the compressor that is lent has lost its tables")
	}
	p.put(c)
	for range maxUnasked - 1 {
		p.skip()
	}
	if c.zstd == nil {
		t.Errorf("after %d blocks the compressor has no tables; want it to keep them for %d", maxUnasked-1, maxUnasked)
	}
	if p.skip(); c.zstd != nil {
		t.Errorf("after %d blocks the compressor has its tables; want none", maxUnasked)
	}
	if _, _, err := c.append(nil, make([]byte, 1<<10)); err != nil {
		t.Errorf("without its tables: %v", err)
	}
}

// Each block is noted in the pools that it needs no compressor of.
func TestCompressorsOf(t *testing.T) {
	r := rows{lines: texts{text: make([]byte, 1<<20)}}
	pools := []*compressorPool{defaultCompressors, betterCompressors}
	for _, c := range []struct {
		texts  int
		want   *compressorPool
		needed int // by its place in pools, -1: none
	}{{0, defaultCompressors, 0}, {1 << 19, betterCompressors, 1}, {1 << 20, nil, -1}} {
		var e encoder2
		for i, p := range pools {
			p.unasked.Store(0)
			if got := e.compressorsOf(c.texts, &r); got != c.want {
				t.Errorf("%d of 1 MiB are texts: not the compressors that are wanted", c.texts)
			}
			want := int64(1)
			if i == c.needed {
				want = 0
			}
			if n := p.unasked.Load(); n != want {
				t.Errorf("%d of 1 MiB are texts: pool %d notes %d blocks; want %d", c.texts, i, n, want)
			}
		}
	}
}

// A block with some texts does not count beside others without, nor if it is the first one; the
// next one like it does.
func TestTextsAreRare(t *testing.T) {
	const lines = 1 << 20
	for _, before := range []int{0, 1, 20} {
		var e encoder2
		for range before {
			e.textsAreRare(0, lines)
		}
		if !e.textsAreRare(lines/5, lines) {
			t.Errorf("one block of names behind %d others: they are not rare", before)
		}
		if e.textsAreRare(lines/5, lines) {
			t.Errorf("two blocks of names behind %d others: they are rare", before)
		}
		for range 8 {
			e.textsAreRare(0, lines)
		}
		if !e.textsAreRare(0, lines) {
			t.Errorf("8 blocks without names: they are not rare")
		}
	}
	if new(encoder2).textsAreRare(lines/2, lines) {
		t.Error("a first block of which half is texts: they are rare")
	}
}

// keptBy returns how many bytes of memory are in use after f that were not before.
func keptBy(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// What an encoder says that it keeps is what it keeps, whatever the lines are.
func TestEncoderWeight(t *testing.T) {
	makeCompressors(t)
	for name, line := range map[string]string{
		"numbers":   strings.Repeat("1 ", 254) + "1",
		"fields":    strings.Repeat("a=1 ", 254) + "1",
		"long":      strings.Repeat("x", 64<<10),
		"fractions": strings.Repeat("1.5;", 200) + "1",
	} {
		e := &Encoder{Miner: template.NewMiner()}
		kept := keptBy(func() {
			for e.Raw() < 1<<20 {
				e.Add(int64(e.Rows()), []byte(line), nil)
			}
			if _, err := e.Append(nil); err != nil {
				t.Fatal(err)
			}
		})
		if says := e.Weight(); kept > says+says/4 {
			t.Errorf("%s: the encoder and its miner keep %d bytes; it says %d", name, kept, says)
		}
		runtime.KeepAlive(e)
	}
}

// A decoder keeps no more than it says, whether it read times alone or all.
func TestDecoderWeight(t *testing.T) {
	const n = 100_000
	rng := rand.New(rand.NewPCG(8, 8))
	for _, miner := range []*template.Miner{nil, template.NewMiner()} {
		e := Encoder{Miner: miner}
		for i := range n {
			e.Add(int64(i)*1e6+rng.Int64N(1e6), fmt.Appendf(nil, "took %d of %d", rng.IntN(1e6), i%7), nil)
		}
		p, err := e.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range []bool{false, true} {
			var d *Decoder
			kept := keptBy(func() {
				d = new(Decoder)
				err := d.OpenTimes(p)
				if err == nil {
					_, err = d.Times()
				}
				if all && err == nil {
					err = errors.Join(d.OpenLines(e.Templates()), d.Lines())
				}
				if err != nil {
					t.Fatal(err)
				}
			})
			says, unsaid := d.Weight(), int64(512<<10) // as a zstd.Decoder has memory that is not weighed
			if kept > says+says/8+unsaid {
				t.Errorf("version %d, all lines: %v: the decoder keeps %d bytes; it says %d", p[0], all, kept, says)
			}
			runtime.KeepAlive(d)
		}
	}
}

// TestPass: a block is encoded in short steps, between which others have the processor.
func TestPass(t *testing.T) {
	rows := serviceRows(7000)
	var e Encoder
	want, _ := encode2(t, &e, rows)
	passed := 0
	stepwise := Encoder{Pass: func() {
		passed++
		for _, p := range []*compressorPool{defaultCompressors, betterCompressors} {
			if len(p.free) < cap(p.free) {
				t.Error("others have the processor while a compressor is lent that they may wait for")
			}
		}
	}}
	p, _ := encode2(t, &stepwise, rows)
	if string(p) != string(want) {
		t.Error("the block is another one")
	}
	if least := len(rows)/passRows + len(stepwise.columns.columns.values) + 6; passed < least {
		t.Errorf("Append passed %d times; want at least %d", passed, least)
	}
	passed = 0
	stepwise.AddLines(new(filter.VariableBuilder))
	if least := len(stepwise.columns.values) / passRows; passed < least {
		t.Errorf("AddLines passed %d times; want at least %d", passed, least)
	}
}
