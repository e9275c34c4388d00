package states

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A group is a set of changes that depend on no change outside it. All states
// of a frame are the product of its groups. The changes of one file's content
// are a group whose ways are only those that make different contents: a write
// of zeros over zeros does not double the states.
type group struct {
	index []int   // indexes of the changes
	ways  [][]int // outcomes of these changes
}

// groups returns the groups of the frame, or nil if they have more than limit
// vectors.
func (f *frame) groups(limit int) []group {
	of := make([]int, len(f.change)) // the first change of the group
	var find func(i int) int
	find = func(i int) int {
		if of[i] != i {
			of[i] = find(of[i])
		}
		return of[i]
	}
	join := func(i, j int) { of[max(find(i), find(j))] = min(find(i), find(j)) }
	file := map[uint64]int{}
	for i, c := range f.change {
		of[i] = i
		if c.kind == changeData || c.kind == changeSize {
			if first, ok := file[c.node]; ok {
				join(i, first)
			} else {
				file[c.node] = i
			}
		}
		for _, d := range f.deps[i] {
			join(i, d)
		}
	}
	members := map[int][]int{}
	for i := range f.change {
		members[find(i)] = append(members[find(i)], i)
	}
	groups := []group{} // not nil: without a change there is one vector
	total := 1
	for _, first := range slices.Sorted(maps.Keys(members)) {
		g := group{index: members[first]}
		if !f.ways(&g, limit) || total > limit/len(g.ways) {
			return nil
		}
		total *= len(g.ways)
		groups = append(groups, g)
	}
	return groups
}

// ways sets the ways of a group. It returns false if there are more than limit.
func (f *frame) ways(g *group, limit int) bool {
	content := true
	for _, i := range g.index {
		kind := f.change[i].kind
		content = content && (kind == changeData || kind == changeSize)
	}
	if content {
		// Each content is made and hashed: not more than about 64 MiB of them.
		size := int64(4096)
		for _, i := range g.index {
			o := &f.model.ops[f.change[i].op]
			size = max(size, o.Size, o.Off+o.Len)
		}
		limit = min(limit, int(64<<20/size))
	}
	v := make([]int, len(f.change))
	seen := map[[sha256.Size]byte]bool{}
	tried := 0
	var from func(k int) bool
	from = func(k int) bool {
		if k == len(g.index) {
			if tried++; tried > limit {
				return false
			}
			if content {
				sum := f.file(f.change[g.index[0]].node, g.index, v).sum
				if seen[sum] {
					return true
				}
				seen[sum] = true
			}
			way := make([]int, len(g.index))
			for k, i := range g.index {
				way[k] = v[i]
			}
			g.ways = append(g.ways, way)
			return true
		}
		i := g.index[k]
		for out := range outTorn + f.basic[i] {
			if f.change[i].forced && out != outKept || out != outLost && !f.allows(v, i) {
				continue
			}
			if v[i] = out; !from(k + 1) {
				return false
			}
		}
		v[i] = outLost
		return true
	}
	return from(0)
}

// count returns the number of vectors, at most limit+1.
func (f *frame) count(limit int) int {
	groups := f.groups(limit)
	if groups == nil {
		return limit + 1
	}
	n := 1
	for _, g := range groups {
		n *= len(g.ways)
	}
	return n
}

// each calls yield with each vector until it returns false.
func (f *frame) each(limit int, yield func(v []int) bool) {
	groups := f.groups(limit)
	v := make([]int, len(f.change))
	var from func(g int) bool
	from = func(g int) bool {
		if g == len(groups) {
			return yield(v)
		}
		for _, way := range groups[g].ways {
			for k, i := range groups[g].index {
				v[i] = way[k]
			}
			if !from(g + 1) {
				return false
			}
		}
		return true
	}
	from(0)
}

// simple returns the vectors that show most faults, and show them plainly: all
// kept, all lost, a prefix, and one change unlike the others.
func (f *frame) simple() [][]int {
	var all [][]int
	seen := map[string]bool{}
	add := func(v []int) {
		if id := vectorID(v); f.valid(v) && !seen[id] {
			seen[id] = true
			all = append(all, v)
		}
	}
	every := func(out int) []int { return slices.Repeat([]int{out}, len(f.change)) }
	none := f.repair(every(outLost))
	add(every(outKept))
	add(none)
	for i := range f.change {
		add(f.without(every(outKept), i))
		add(f.with(none, i, outKept))
		begin := every(outKept)
		for j := i; j < len(begin); j++ {
			begin[j] = outLost
		}
		add(f.repair(begin))
		for k := range f.basic[i] {
			torn := every(outKept)
			torn[i] = outTorn + k
			add(torn)
			add(f.with(none, i, outTorn+k))
		}
	}
	return all
}

// without loses change i, and every change that depends on it.
func (f *frame) without(v []int, i int) []int {
	v[i] = outLost
	for j := i + 1; j < len(v); j++ {
		if !f.allows(v, j) {
			v[j] = outLost
		}
	}
	return v
}

// with gives change i an outcome other than lost, and keeps every change that it
// depends on.
func (f *frame) with(v []int, i, out int) []int {
	v = slices.Clone(v)
	v[i] = out
	for j := i; j >= 0; j-- {
		if v[j] == outLost {
			continue
		}
		for _, d := range f.deps[j] {
			v[d] = max(v[d], outKept)
		}
	}
	return v
}

// repair keeps the changes that are durable.
func (f *frame) repair(v []int) []int {
	for i, c := range f.change {
		if c.forced && v[i] != outKept {
			v = f.with(v, i, outKept)
		}
	}
	return v
}

// random draws a valid vector.
func (f *frame) random(rng *rand.Rand) []int {
	v := make([]int, len(f.change))
	keep := []float64{0.1, 0.5, 0.9}[rng.IntN(3)]
	for i := range v {
		switch {
		case f.change[i].forced:
			v[i] = outKept
		case !f.allows(v, i) || rng.Float64() > keep:
		case len(f.tears[i]) > 0 && rng.IntN(6) == 0:
			v[i] = outTorn + rng.IntN(len(f.tears[i]))
		default:
			v[i] = outKept
		}
	}
	return v
}

// shrink looks for the vector that keeps the most and still fails.
func (f *frame) shrink(v []int, fails func(v []int) bool) []int {
	const tries = 500
	n := 0
	try := func(w []int) bool {
		if n++; n > tries || !f.valid(w) || slices.Equal(v, w) || !fails(w) {
			return false
		}
		v = w
		return true
	}
	for again := true; again && n < tries; {
		again = false
		// Torn, or lost with what depends on it, may be as well kept.
		for i := range v {
			if v[i] != outKept {
				again = try(f.with(v, i, outKept)) || again
			}
		}
	}
	// Lost is easier to understand than torn.
	for i := range v {
		if v[i] >= outTorn {
			try(f.without(slices.Clone(v), i))
		}
	}
	return v
}

// vectorID writes runs of equal outcomes: "1*40,0,1*3".
func vectorID(v []int) string {
	var parts []string
	for i := 0; i < len(v); {
		j := i
		for j < len(v) && v[j] == v[i] {
			j++
		}
		if j-i > 1 {
			parts = append(parts, fmt.Sprintf("%d*%d", v[i], j-i))
		} else {
			parts = append(parts, strconv.Itoa(v[i]))
		}
		i = j
	}
	return strings.Join(parts, ",")
}

// stateID names a state of one history: the model, the point of the cut, and
// the outcome of each change: "P4.1:1,0".
func (f *frame) stateID(v []int) string {
	return fmt.Sprintf("%c%d.%d:%s", modelLetters[f.model.kind], f.at, f.acked, vectorID(v))
}

const modelLetters = "PJ"

func parseStateID(id string) (kind Model, p cutPoint, v []int, err error) {
	wrong := fmt.Errorf("states: Options.Only: %q is not the ID of a state; want one of a failure's String", id)
	where, vector, ok := strings.Cut(id, ":")
	if ok = ok && where != ""; ok {
		kind = Model(strings.IndexByte(modelLetters, where[0]))
		at, acked, _ := strings.Cut(where[1:], ".")
		var errAt, errAcked error
		p.at, errAt = strconv.Atoi(at)
		p.acked, errAcked = strconv.Atoi(acked)
		ok = kind >= 0 && errAt == nil && errAcked == nil
	}
	if !ok {
		return 0, p, nil, wrong
	}
	if vector == "" {
		return kind, p, nil, nil
	}
	for part := range strings.SplitSeq(vector, ",") {
		outcome, times, repeated := strings.Cut(part, "*")
		n := 1
		if repeated {
			if n, err = strconv.Atoi(times); err != nil || n < 1 || n > 1<<20 {
				return 0, p, nil, wrong
			}
		}
		out, err := strconv.Atoi(outcome)
		if err != nil || out < 0 {
			return 0, p, nil, wrong
		}
		v = append(v, slices.Repeat([]int{out}, n)...)
	}
	return kind, p, v, nil
}
