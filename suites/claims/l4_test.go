package claims

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL4(t *testing.T) {
	c := claimL4()
	of := func(times, sizes map[string]float64) run.Claim {
		m := in("d", "ext4").all(&c, byVariant(times))
		return judge(t, &c, m.each(func(_ *run.Result, v *run.VariantResult) {
			v.Metrics["bytes_per_record"] = suitetest.About(sizes[v.Name])
		}))
	}
	slow := map[string]float64{l4Own: 80, l4Binary: 400, l4GobEach: 4000, l4GobStream: 4000}
	large := map[string]float64{l4Own: 984, l4Binary: 1032, l4GobEach: 1372, l4GobStream: 1372}
	expect(t, "as claimed", of(slow, large), Holds)
	expect(t, "as large by encoding/binary", of(slow, map[string]float64{l4Own: 984, l4Binary: 984, l4GobEach: 1372, l4GobStream: 990}), DoesNotHold)
	expect(t, "as fast", of(map[string]float64{l4Own: 80, l4Binary: 80, l4GobEach: 80, l4GobStream: 80}, large), DoesNotHold)
	expect(t, "with a fresh encoder each", of(map[string]float64{l4Own: 80, l4Binary: 400, l4GobEach: 4000, l4GobStream: 300}, large), Depends)
	expect(t, "on the limit", of(map[string]float64{l4Own: 80, l4Binary: 80 * 290. / 72 * (1 - slack), l4GobEach: 4000, l4GobStream: 4000}, large), CannotTell)
}

// Every codec decodes the records that it encoded, several in a row.
func TestL4CodecsReadWhatTheyWrite(t *testing.T) {
	for _, w := range l4Ways {
		name, codec, buf := w.name, w.open(), new(bytes.Buffer)
		for i := range int64(3) {
			r := l4Sample(i<<20, 968)
			if err := codec.encode(buf, &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		src := bytes.NewReader(buf.Bytes())
		for i := range int64(3) {
			var got l4Record
			if err := codec.decode(src, &got); err != nil || !got.equals(l4Sample(i<<20, 968)) {
				t.Errorf("%s: record %d is not the one that was written (%v)", name, i, err)
			}
		}
		if err := codec.decode(src, new(l4Record)); err == nil {
			t.Errorf("%s read a record after the last", name)
		}
	}
}

// The published layout takes 984 bytes for 968 of data. With a checksum, damage is noticed.
func TestL4OwnLayout(t *testing.T) {
	r := l4Sample(7, 968)
	if whole := r.appendTo(nil); len(whole) != 984 {
		t.Errorf("%d bytes, want 984", len(whole))
	}
	for n := range r.appendTo(nil) {
		if _, err := new(l4Record).parse(r.appendTo(nil)[:n]); !errors.Is(err, errL4) {
			t.Fatalf("%d of 984 bytes: %v", n, err)
		}
	}
	buf := new(bytes.Buffer)
	if err := ownLayout(true).encode(buf, &r); err != nil {
		t.Fatal(err)
	}
	for i := range buf.Bytes() {
		damaged := bytes.Clone(buf.Bytes())
		damaged[i] ^= 0x40
		if err := ownLayout(true).decode(bytes.NewReader(damaged), new(l4Record)); !errors.Is(err, errL4) {
			t.Fatalf("a flipped bit in byte %d of %d: %v", i, buf.Len(), err)
		}
	}
}
