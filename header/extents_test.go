package header

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// A model is a file as blocks: numbers are content, 0 is zeros.
type model struct {
	size   int64
	blocks []modelBlock // up to the last that is not a hole
}

type modelBlock struct {
	room bool
	data int
}

const modelBlockSize = sector

func (m *model) at(i int64) modelBlock {
	if i < int64(len(m.blocks)) {
		return m.blocks[i]
	}
	return modelBlock{}
}

func (m *model) set(i int64, b modelBlock) {
	for int64(len(m.blocks)) <= i {
		m.blocks = append(m.blocks, modelBlock{})
	}
	m.blocks[i] = b
}

func (m *model) clone() *model { return &model{m.size, slices.Clone(m.blocks)} }

func (m *model) fileMap() fileMap {
	f := fileMap{size: m.size}
	for i, b := range m.blocks {
		if b.room {
			f.blocks = addSpan(f.blocks, span{int64(i), 1})
		}
		if b.data != 0 {
			f.written = addSpan(f.written, span{int64(i), 1})
		}
	}
	return f
}

// content returns the blocks as a reader sees them.
func (m *model) content() string {
	var list []int
	for i := int64(0); i*modelBlockSize < m.size; i++ {
		list = append(list, m.at(i).data)
	}
	return fmt.Sprint(m.size, list)
}

// extents returns the ranges that move as one.
func (m *model) extents(rng *rand.Rand, from int64) []span {
	var list []span
	for i := from; i < int64(len(m.blocks)); i++ {
		if !m.blocks[i].room {
			continue
		}
		last := len(list) - 1
		if last >= 0 && list[last].off+list[last].n == i && rng.IntN(3) > 0 {
			list[last].n++
		} else {
			list = append(list, span{i, 1})
		}
	}
	return list
}

func (m *model) move(s span, by int64) {
	moved := slices.Clone(m.blocks[s.off : s.off+s.n])
	for i := range moved {
		m.blocks[s.off+int64(i)] = modelBlock{}
	}
	for i, b := range moved {
		m.set(s.off+int64(i)+by, b)
	}
}

func modelSum(data ...int) uint32 { return crc32.Checksum(fmt.Append(nil, data), castagnoli) }

func (m *model) sumOf(off, n int64) uint32 {
	var list []int
	for i := off; i < off+n; i++ {
		list = append(list, m.at(i).data)
	}
	return modelSum(list...)
}

// planOf returns the plan of a shift whose base is in m from block off on.
func (m *model) planOf(base, off int64, head []int) *shiftPlan {
	p := &shiftPlan{block: modelBlockSize, base: base}
	for _, h := range head {
		p.head = append(p.head, modelSum(h))
	}
	f := m.fileMap()
	p.data = clip(f.blocks, off, off+p.end())
	p.beyondEOF = len(clip(f.blocks, off+p.end(), maxSize)) > 0
	p.first = m.sumOf(off, min(p.end(), p.gap()))
	return p
}

// insertion returns the states that a power cut may leave of an insertion, after each
// step.
func (m *model) insertion(rng *rand.Rand, head []int) []*model {
	gap := int64(len(head))
	states := []*model{m.clone()}
	now := m.clone()
	now.size = (m.size + modelBlockSize - 1) / modelBlockSize * modelBlockSize
	states = append(states, now.clone())
	now.size = m.size + gap*modelBlockSize
	states = append(states, now.clone())
	for _, s := range slices.Backward(now.extents(rng, 0)) {
		now.move(s, gap)
		states = append(states, now.clone())
	}
	for range 3 { // any part of the head, or of its space
		torn := now.clone()
		for i, h := range head {
			switch rng.IntN(3) {
			case 0:
				torn.set(int64(i), modelBlock{true, h})
			case 1:
				torn.set(int64(i), modelBlock{true, 0})
			}
		}
		states = append(states, torn)
	}
	for i, h := range head {
		now.set(int64(i), modelBlock{true, h})
	}
	return append(states, now)
}

// collapse returns the states that a power cut may leave when n blocks at x are removed.
func (m *model) collapse(rng *rand.Rand, x, n int64) []*model {
	states := []*model{m.clone()}
	now := m.clone()
	for range 2 {
		freed := now.clone()
		for i := x; i < x+n && i < int64(len(freed.blocks)); i++ {
			if rng.IntN(2) == 0 {
				freed.blocks[i] = modelBlock{}
			}
		}
		states = append(states, freed)
	}
	for i := x; i < x+n && i < int64(len(now.blocks)); i++ {
		now.blocks[i] = modelBlock{}
	}
	states = append(states, now.clone())
	for _, s := range now.extents(rng, x+n) {
		now.move(s, -n)
		states = append(states, now.clone())
	}
	now.size -= n * modelBlockSize
	return append(states, now)
}

// judgeModel recovers an interrupted shift, as resolveShift does, and returns the states
// that a power cut during the recovery may leave.
func judgeModel(p *shiftPlan, m *model, rng *rand.Rand) (end *model, between []*model, state shiftState, err error) {
	state, x, err := p.classify(m.fileMap(), func() (h headState, err error) {
		for i, want := range p.head {
			switch b := m.at(int64(i)); {
			case modelSum(b.data) == want:
				h.whole++
			case b.data == 0:
				h.zero++
			default:
				h.other++
			}
		}
		return h, nil
	}, func(block int64) (bool, error) {
		return m.sumOf(block, min(p.end(), p.gap())) == p.first, nil
	}, func() (bool, error) { return true, nil })
	if err != nil {
		return nil, nil, state, err
	}
	switch state {
	case stateBase, stateHead:
		return m, nil, state, nil
	case stateTail:
		end = m.clone()
		end.size = p.base
		for i := p.end(); i < int64(len(end.blocks)); i++ {
			end.blocks[i] = modelBlock{}
		}
		return end, nil, state, nil
	case stateGap:
		between = m.collapse(rng, x, p.gap())
		return between[len(between)-1], between, state, nil
	}
	return nil, nil, state, fmt.Errorf("no state of %+v", *p)
}

// Wherever a shift is interrupted, in either direction, recovery leaves the base, or
// head and base if both are complete. So does recovery that was interrupted itself.
func TestJudge(t *testing.T) {
	seed := testseed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	seen := map[shiftState]int{}
	for round := range 2_500 {
		// Two contents and many holes: as many ambiguous states as possible.
		contents := 1 + rng.IntN(3)
		m := &model{}
		n := 1 + rng.Int64N(8)
		for i := range n {
			if rng.IntN(3) > 0 {
				m.set(i, modelBlock{true, rng.IntN(contents)})
			}
		}
		m.size = n*modelBlockSize - rng.Int64N(modelBlockSize)
		gap := 1 + rng.Int64N(3)
		var states []*model
		var p *shiftPlan
		var base, whole *model
		insert := rng.IntN(2) == 0
		if insert {
			head := make([]int, gap)
			for i := range head {
				head[i] = 100 + i
			}
			if rng.IntN(4) == 0 { // blocks beyond the end
				m.set(n+rng.Int64N(2), modelBlock{true, 0})
			}
			p = m.planOf(m.size, 0, head)
			states = m.insertion(rng, head)
			base, whole = m, states[len(states)-1]
		} else {
			if n <= gap {
				continue
			}
			var head []int
			for i := range gap {
				m.set(i, modelBlock{true, 100 + int(i)}) // the head that was inserted
				head = append(head, 100+int(i))
			}
			p = m.planOf(m.size-gap*modelBlockSize, gap, head)
			states = m.collapse(rng, 0, gap)
			base, whole = states[len(states)-1], m
		}
		if len(p.data) == 0 {
			continue // refused
		}
		if in, err := decodeIntent((&intent{kind: insertShift, shift: *p}).encode()); err != nil || fmt.Sprint(in.shift) != fmt.Sprint(*p) {
			t.Fatalf("seed %d, round %d: %+v is %+v when it is read again (%v)", seed, round, *p, in, err)
		}
		for step, s := range states {
			work := []*model{s}
			for depth := 0; len(work) > 0 && depth < 3; depth++ {
				var next []*model
				for _, s := range work {
					end, between, state, err := judgeModel(p, s, rng)
					if err == errAmbiguous && p.firstZero(m, insert) {
						continue // ambiguous for any recovery
					}
					if err != nil {
						t.Fatalf("seed %d, round %d, step %d, insert %v, depth %d: %v\nbase %+v\nnow  %+v", seed, round, step, insert, depth, err, base, s)
					}
					want := base
					if state == stateHead {
						want = whole
					}
					if end.content() != want.content() {
						t.Fatalf("seed %d, round %d, step %d, insert %v, depth %d, state %d: it ends as\n%s, not\n%s, from\n%+v", seed, round, step, insert, depth, state, end.content(), want.content(), s)
					}
					seen[state]++
					next = append(next, between...)
				}
				work = next
			}
		}
		if last := states[len(states)-1]; insert {
			if _, _, state, _ := judgeModel(p, last, rng); state != stateHead {
				t.Fatalf("seed %d, round %d: a finished insertion is in state %d", seed, round, state)
			}
		}
	}
	for _, s := range []shiftState{stateBase, stateHead, stateGap, stateTail} {
		if seen[s] < 200 {
			t.Errorf("state %d was met %d times", s, seen[s])
		}
	}
}

// firstZero: the base begins with zeros, and blocks were allocated beyond its end.
func (p *shiftPlan) firstZero(m *model, insert bool) bool {
	n := min(p.end(), p.gap())
	return insert && p.beyondEOF && m.sumOf(0, n) == modelSum(make([]int, n)...)
}

func TestSpans(t *testing.T) {
	list := []span{{0, 2}, {4, 3}, {10, 1}}
	for _, c := range []struct {
		what      string
		got, want []span
	}{
		{"cut in the middle of spans", clip(list, 1, 6), []span{{0, 1}, {3, 2}}},
		{"cut of a hole", clip(list, 2, 4), nil},
		{"a gap in a span", withGap(list, 5, 2), []span{{0, 2}, {4, 1}, {7, 2}, {12, 1}}},
		{"a gap at the head", withGap(list, 0, 3), []span{{3, 2}, {7, 3}, {13, 1}}},
		{"a gap at the begin of a span", withGap(list, 4, 1), []span{{0, 2}, {5, 3}, {11, 1}}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	for _, c := range []struct {
		b     []span
		want  int64
		found bool
	}{
		{list, 0, false},
		{nil, 0, true},
		{[]span{{0, 11}}, 0, false},
		{[]span{{0, 5}, {6, 9}}, 5, true},
		{[]span{{0, 2}, {5, 9}}, 4, true},
		{[]span{{0, 9}}, 10, true},
	} {
		if x, found := firstMissing(list, c.b); x != c.want || found != c.found {
			t.Errorf("first of %v that %v lacks: %d, %v, want %d, %v", list, c.b, x, found, c.want, c.found)
		}
	}
}
