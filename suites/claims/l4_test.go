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
	slow := map[string]float64{l4Own: 80, l4Binary: 400, l4Head: 400, l4GobEach: 4000, l4GobStream: 4000}
	large := map[string]float64{l4Own: 984, l4Binary: 1032, l4Head: 1032, l4GobEach: 1372, l4GobStream: 1372}
	expect(t, "as claimed", of(slow, large), Holds)
	same := map[string]float64{l4Own: 80, l4Binary: 80, l4Head: 80, l4GobEach: 80, l4GobStream: 80}
	// With equal sizes binary's would be within the claim's slack.
	small := map[string]float64{l4Own: 1000, l4Binary: 900, l4Head: 900, l4GobEach: 1000, l4GobStream: 1000}
	expect(t, "alike", of(same, small), DoesNotHold)
	expect(t, "as coded only", of(map[string]float64{l4Own: 80, l4Binary: 400, l4Head: 400, l4GobEach: 4000, l4GobStream: 300}, large), Depends)
	expect(t, "on the limit", of(slow, map[string]float64{l4Own: 984, l4Binary: 1032 * (1 - slack), l4Head: 1032, l4GobEach: 1372, l4GobStream: 1372}), CannotTell)
}

// Every codec decodes the records that it encoded, several in a row.
func TestL4CodecsReadWhatTheyWrite(t *testing.T) {
	for _, w := range l4Ways {
		name, codec, buf := w.name, w.open(), new(bytes.Buffer)
		for i := range int64(3) {
			r := l4Sample(i << 40)
			if err := codec.encode(buf, &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		src := bytes.NewReader(buf.Bytes())
		for i := range int64(3) {
			var got l4Record
			if err := codec.decode(src, &got); err != nil || got != l4Sample(i<<40) {
				t.Errorf("%s: record %d is not the one that was written (%v)", name, i, err)
			}
		}
		if err := codec.decode(src, new(l4Record)); err == nil {
			t.Errorf("%s read a record after the last", name)
		}
	}
}

func TestL4OwnLayoutNoticesDamage(t *testing.T) {
	r := l4Sample(7)
	whole := r.appendTo(nil)
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x40
		if err := new(l4Record).parse(damaged); !errors.Is(err, errL4) {
			t.Fatalf("a flipped bit in byte %d of %d: %v", i, len(whole), err)
		}
	}
	for n := range whole {
		if err := new(l4Record).parse(whole[:n]); !errors.Is(err, errL4) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}
