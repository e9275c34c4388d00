package claims

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/suitetest"
)

func TestJudgeL1(t *testing.T) {
	c := claimL1()
	const carried = 4 // the step that all off carries
	at := func(off float64, more, sooner func(every, level string) float64, reached bool) *made {
		m := in("d", "ext4").all(&c, func(*lab.Experiment, string) float64 { return 1e9 })
		return m.each(func(r *run.Result, v *run.VariantResult) {
			rate, tail := off, 142e6
			if v.Name != l1AllOff {
				rate *= more(r.Params["every"], r.Params["level"])
				tail /= sooner(r.Params["every"], r.Params["level"])
			}
			v.Metrics["carried_per_second"] = suitetest.About(rate)
			if reached || v.Name == l1AllOff {
				v.Metrics[l1TailMetric(carried)] = suitetest.About(tail)
			}
		})
	}
	of := func(more, sooner func(every, level string) float64, reached bool) run.Claim {
		return judge(t, &c, at(l1Rate(carried), more, sooner, reached))
	}
	is := func(x float64) func(string, string) float64 { return func(string, string) float64 { return x } }
	killOnly := func(yes, no float64) func(string, string) float64 {
		return func(_, level string) float64 {
			if level == durability.Kill.String() {
				return yes
			}
			return no
		}
	}
	expect(t, "as claimed", of(is(42./8), is(142./9), true), Holds)
	expect(t, "alike", of(is(1), is(1), true), DoesNotHold)
	expect(t, "more, but not sooner", of(is(6), is(2), true), DoesNotHold)
	expect(t, "more, and the rate is not reached", of(is(6), is(20), false), DoesNotHold)
	between := (l1Rate(carried) + l1Rate(carried+1)) / 2 // in half of the rounds each
	expect(t, "between two steps", judge(t, &c, at(between, is(6), is(20), true)), Holds)
	broken := at(l1Rate(carried), is(6), is(20), true).each(func(_ *run.Result, v *run.VariantResult) {
		if v.Name == l1AllOn {
			v.Error = "broken"
		}
	})
	expect(t, "all on fails", judge(t, &c, broken), CannotTest)
	expect(t, "where nothing is synced only", of(killOnly(6, 2), is(20), true), Depends)
	expect(t, "on the limit", of(is(42./8*(1-slack)), is(142./9), true), CannotTell)
}

// Each switch alone, on and off: queries find what they should, and every line is in the log.
func TestL1Server(t *testing.T) {
	sets := map[string]l1Set{l1AllOff: 0, l1AllOn: l1Everything}
	for s := range l1Switches {
		sets[l1OnlyOn(s)], sets[l1OnlyOff(s)] = l1Set(0).with(s), l1Everything.without(s)
	}
	e := lab.Experiment{Suite: "test", Name: "server", Ops: 1}
	for name, on := range sets {
		v := lab.Variant{Name: name, Run: func(b *lab.B) error {
			server, err := openL1(b, on, durability.Kill, 64)
			if err != nil {
				return err
			}
			for b.Loop() {
				if _, _, err := newL1Load(b, server, 4).offer(20_000); err != nil {
					return err
				}
			}
			if err := server.close(); err != nil {
				return err
			}
			return l1Written(filepath.Join(b.Dir, "wal"), on, t)
		}}
		if b, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7); b.Unsupported {
			t.Skip(err)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// l1Written checks that each client's lines are in the log, once and in order.
func l1Written(name string, on l1Set, t *testing.T) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if on.has(l1Levels) { // frames
		var payloads []byte
		for len(text) >= 8 {
			n := binary.LittleEndian.Uint32(text)
			payloads, text = append(payloads, text[8:8+n]...), text[8+n:]
		}
		text = payloads
	}
	last, lines := map[uint64]uint32{}, 0
	dec := gob.NewDecoder(bytes.NewReader(text))
	for {
		var r l4Record
		if on.has(l1Layout) {
			n, err := r.parse(text)
			if err != nil {
				break
			}
			text = text[n:]
		} else if dec.Decode(&r) != nil {
			break
		}
		if r.Index != last[r.Term]+1 || len(r.Data) != l1Entry {
			t.Errorf("client %d: line %d after %d, %d bytes", r.Term, r.Index, last[r.Term], len(r.Data))
		}
		last[r.Term] = r.Index
		lines++
	}
	if want := int(20_000*l1Step.Seconds()) * 3 / 4; lines != want {
		t.Errorf("%d lines are in the log, want %d", lines, want)
	}
	return nil
}
