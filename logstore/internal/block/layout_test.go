package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/stele-go/stele/internal/filetest"
)

// The code writes the worked example of the package comment.
func TestWorkedExample(t *testing.T) {
	const at = 1_700_000_000_000_000_000
	got := encode(t, []row{{at, "GET /a", "id=1"}, {at + 1e6, "GET /b", ""}, {at + 2e6, "", ""}})
	filetest.CheckExample(t, 0, got)
}

// reseal recomputes the checksums of a block, except of sections that extend
// beyond it.
func reseal(p []byte) {
	if len(p) < headerSize {
		return
	}
	at := headerSize
	for i := range sections {
		s := p[sectionsAt+i*sectionSize:]
		n := int(binary.LittleEndian.Uint32(s))
		if n > len(p)-at {
			break
		}
		binary.LittleEndian.PutUint32(s[8:], checksum(p[at:at+n]))
		at += n
	}
	binary.LittleEndian.PutUint32(p[headerSumAt:], checksum(p[:headerSumAt]))
}

// A block with any bit flipped is damaged, or seems to be of a later version.
func TestFlippedBits(t *testing.T) {
	rows := logRows(40, 2)
	rows[3].meta, rows[4].line = "a=1", "\xff"
	p := encode(t, rows)
	var d Decoder
	for i := range len(p) * 8 {
		p[i/8] ^= 1 << (i % 8)
		_, err := decode(&d, p)
		if _, later := errors.AsType[*VersionError](err); !errors.Is(err, ErrDamaged) && !(later && i/8 == 0) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i/8, err)
		}
		p[i/8] ^= 1 << (i % 8)
	}
	for n := range p {
		if err := d.Open(p[:n], nil); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	if err := d.Open(append(p, 0), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// Damage of one section leaves the others readable.
func TestSectionsStandAlone(t *testing.T) {
	rows := logRows(40, 2)
	p := encode(t, rows)
	var d Decoder
	p[len(p)-1]++ // of the lines
	if err := d.Open(p, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Lines(); !errors.Is(err, ErrDamaged) {
		t.Errorf("lines that are damaged: %v", err)
	}
	times, err := d.Times()
	if err != nil || len(times) != len(rows) || times[39] != rows[39].time {
		t.Errorf("times before damaged lines: %v, %v", times, err)
	}
	p[len(p)-1]--
	p[headerSize]++ // of the times
	if err := d.Open(p, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Times(); !errors.Is(err, ErrDamaged) {
		t.Errorf("times that are damaged: %v", err)
	}
	if err := d.Lines(); err != nil || string(d.Line(39)) != rows[39].line {
		t.Errorf("lines behind damaged times: %v", err)
	}
}

// Contents that are wrong despite matching checksums are refused with the
// reason.
func TestHostileBlocks(t *testing.T) {
	le := binary.LittleEndian
	frame := func(raw []byte) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(raw, nil)
	}
	// build makes a block of the given sections, each raw or a frame.
	build := func(rows int, zipped byte, raws [sections]int, stored ...string) []byte {
		p := make([]byte, headerSize)
		p[0], p[1] = version1, zipped
		le.PutUint32(p[4:], uint32(rows))
		for i := range sections {
			s := ""
			if i < len(stored) {
				s = stored[i]
			}
			if raws[i] == 0 {
				raws[i] = len(s)
			}
			le.PutUint32(p[sectionsAt+i*sectionSize:], uint32(len(s)))
			le.PutUint32(p[sectionsAt+i*sectionSize+4:], uint32(raws[i]))
			p = append(p, s...)
		}
		reseal(p)
		return p
	}
	const (
		t0   = "\x01\x00\x00\x00\x00\x00\x00\x00"
		t1   = t0 + "\x01\x01\x00" // unit, order, width
		t1w4 = t0 + "\x01\x01\x04"
	)
	var none [sections]int
	good := build(2, 0, none, t1+"\x00", "", "a\xffb\xff")
	if got, err := decode(new(Decoder), good); err != nil || same(got, []row{{1, "a", ""}, {1, "b", ""}}) != nil {
		t.Fatalf("the block that the others are made from: %v, %v", got, err)
	}
	bomb := string(frame(make([]byte, 2*MaxRaw)))
	half := string(frame(make([]byte, MaxRaw)))
	for name, c := range map[string]struct {
		p    []byte
		says string
	}{
		"nothing":   {nil, "empty"},
		"version 0": {make([]byte, 100), "version 0"},

		"no rows":             {build(0, 0, none, t1), "0 rows"},
		"too many rows":       {build(MaxRows+1, 0, none, t1), "rows"},
		"unknown bits":        {build(1, 1<<sections, none, t1, "", "\xff"), "bits"},
		"times too long":      {build(1, 0, none, t1+strings.Repeat("\x00", 50), "", "\xff"), "section 0"},
		"short times":         {build(1, 0, none, t0[1:], "", "\xff"), "times"},
		"no unit":             {build(1, 0, none, t0, "", "\xff"), "unit"},
		"unit 0":              {build(1, 0, none, t0+"\x00\x01\x00", "", "\xff"), "unit"},
		"a unit too large":    {build(1, 0, none, t0+"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01\x01\x00", "", "\xff"), "unit"},
		"no order":            {build(1, 0, none, t0+"\x01", "", "\xff"), "unit"},
		"no width":            {build(1, 0, none, t0+"\x01\x01", "", "\xff"), "unit"},
		"order 3":             {build(1, 0, none, t0+"\x01\x03\x00", "", "\xff"), "order 3"},
		"width 57":            {build(1, 0, none, t0+"\x01\x01\x39", "", "\xff"), "57 bits"},
		"a time is missing":   {build(2, 0, none, t1, "", "\xff\xff"), "times"},
		"a varint is cut":     {build(3, 0, none, t1+"\x80\x80", "", "\xff\xff\xff"), "times end"},
		"a time more":         {build(1, 0, none, t1+"\x00", "", "\xff"), "after the times"},
		"bits are missing":    {build(4, 0, none, t1w4+"\x00\x00\x00", "\x00", "\xff\xff\xff\xff"), "times"},
		"bits more":           {build(3, 0, none, t1w4+"\x00\x00", "\x00\x00", "\xff\xff\xff"), "times"},
		"bits of nothing":     {build(2, 0, none, t1+"\x00", "\x00", "\xff\xff"), "times"},
		"no lines":            {build(1, 0, none, t1), "no lines"},
		"a line is missing":   {build(2, 0, none, t1+"\x00", "", "abc\xff"), "texts end"},
		"a line more":         {build(1, 0, none, t1, "", "\xff\xff"), "after the texts"},
		"a line is open":      {build(1, 0, none, t1, "", "\xffx"), "after the texts"},
		"too few bytes":       {build(3, 0, none, t1+"\x00\x00", "", "\xff\xff"), "2 bytes for 3 rows"},
		"lengths too short":   {build(2, 0, none, t1+"\x00", "", "\xff\xff", "\x00"), "texts end"},
		"lengths too large":   {build(1, 0, none, t1, "", "\xff", "\x01"), "texts end"},
		"lengths too small":   {build(1, 0, none, t1, "", "\xff\xff", "\x00"), "after the texts"},
		"lengths of too many": {build(1, 0, none, t1, "", "\xff", "\x00\x00"), "after the texts"},
		"a length is cut":     {build(1, 0, none, t1, "", "\xff", "\x80"), "texts end"},
		"a huge length":       {build(1, 0, none, t1, "", "\xff", "\xff\xff\xff\xff\x0f"), "texts end"},
		"ends in a line":      {build(1, 0, none, t1, "", "\xffx", "\x01"), "does not end"},
		"lengths of no meta":  {build(1, 0, none, t1, "", "\xff", "", "", "\x00"), "0 bytes for 1 rows"},
		"meta too short":      {build(2, 0, none, t1+"\x00", "", "\xff\xff", "", "\xff"), "1 bytes for 2 rows"},
		"no frame":            {build(1, 4, [sections]int{2: 100}, t1, "", "no frame"), "magic"},
		"a frame too small":   {build(1, 4, [sections]int{2: 1000}, t1, "", string(frame([]byte("a\xff")))), "want 1000"},
		"a frame that is cut": {build(1, 4, [sections]int{2: 1000}, t1, "", string(frame(make([]byte, 1000))[:12])), "damaged"},
		"a bomb":              {build(1, 4, [sections]int{2: MaxRaw}, t1, "", bomb), "damaged"},
		"a frame for nothing": {build(1, 4, [sections]int{2: 5}, t1, "", "12345"), "section 2"},
		"too much text":       {build(1, 4|16, [sections]int{2: MaxRaw, 4: MaxRaw}, t1, "", half, "", half), "more than"},
		"a section too large": {build(1, 4, [sections]int{2: MaxRaw + 2}, t1, "", bomb), "section 2"},
	} {
		_, err := decode(new(Decoder), c.p)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error that says %q", name, err, c.says)
		}
	}
}

// mutate changes a block at random, with matching checksums.
func mutate(p []byte, rng *rand.Rand) []byte {
	p = bytes.Clone(p)
	for range 1 + rng.IntN(3) {
		switch i := rng.IntN(len(p)); rng.IntN(3) {
		case 0:
			p[i] ^= 1 << rng.IntN(8)
		case 1:
			p[i] = byte(rng.Uint32())
		default:
			p[rng.IntN(headerSize)] ^= 1 << rng.IntN(8)
		}
	}
	p[0] = version1
	reseal(p)
	return p
}

// Blocks that are damaged despite matching checksums never make a Decoder
// panic, and it reads the next block after them.
func TestMutatedBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	want := logRows(60, 4)
	want[3].meta, want[4].line = "a=1", "x\xffy"
	good := encode(t, want)
	var d Decoder
	refused := 0
	for range 20_000 {
		p := mutate(good, rng)
		if _, err := decode(&d, p); err != nil {
			refused++
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%x: %v", p, err)
			}
		}
		if rng.IntN(100) == 0 {
			if got, err := decode(&d, good); err != nil || same(got, want) != nil {
				t.Fatalf("the next block: %v, %v", err, same(got, want))
			}
		}
	}
	if refused < 10_000 {
		t.Errorf("only %d of 20000 were refused", refused)
	}
}
