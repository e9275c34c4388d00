package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A recoveryPlan is what Open does with the files it finds.
type recoveryPlan struct {
	served     []*foundFile
	unreadable []*foundFile   // to be salvaged
	leftovers  []*foundFile   // to be removed
	rejected   []rejectedFile // to be quarantined
}

// newest returns when the newest served segment was made, in Unix nanoseconds, or
// 0. It is from the trusted clock of the store's last life.
func (p recoveryPlan) newest() (created int64) {
	for _, f := range p.served {
		created = max(created, f.file.info.Created)
	}
	return created
}

type rejectedFile struct {
	*foundFile
	why, kept string
	elsewhere bool // all that can be read of it is served elsewhere, or replayed
	foreign   bool // its positions are not those of the log
	misplaced bool // nor are those of its name its own
}

// planRecovery decides. Of overlapping segments one is served: that of the
// higher generation, then that of more positions, then the older. truncated is
// the position before the log's first. A file is compared with the first of those
// before it that is kept and overlaps it.
//
// The positions of a segment of another log mean something else. So it takes the place
// of no segment, and of no record: it is rejected if it overlaps a segment of this log.
func planRecovery(all []*foundFile, truncated uint64) (s recoveryPlan) {
	all = slices.Clone(all)
	foreign := func(f *foundFile) bool { return f.verdict.Other }
	slices.SortFunc(all, func(a, b *foundFile) int {
		switch x, y := a.positions, b.positions; {
		case foreign(a) != foreign(b):
			if foreign(b) { // those of this log first
				return -1
			}
			return 1
		case (a.bad == nil) != (b.bad == nil):
			if a.bad == nil { // intact ones first
				return -1
			}
			return 1
		case x.generation != y.generation:
			return cmp.Compare(y.generation, x.generation)
		case x.upto-x.after != y.upto-y.after:
			return cmp.Compare(y.upto-y.after, x.upto-x.after)
		case a.file.info.Created != b.file.info.Created:
			return cmp.Compare(a.file.info.Created, b.file.info.Created)
		}
		return strings.Compare(a.name, b.name)
	})
	kept := newPositionSet(all)
	upto := uint64(0)
	for i, f := range all {
		var by *foundFile
		if j := kept.overlapping(f.positions); j >= 0 {
			by = all[j]
		}
		reject := func(why, kept string) {
			s.rejected = append(s.rejected, rejectedFile{f, why, kept, false, foreign(f), f.misplaced()})
		}
		rejectKept := func(why, kept string) {
			s.rejected = append(s.rejected, rejectedFile{f, why, kept, true, foreign(f), false})
		}
		switch {
		case f.properName != "":
			// By its name it would be served twice, or in place of another.
			reject("its content belongs under the name "+f.properName, "nothing under this name")
		case f.verdict.Aside != "":
			reject(f.verdict.Aside, keptByImport)
		case foreign(f) && by != nil && !foreign(by):
			reject("it is of another log, and its positions overlap those of "+by.name, keptByImport)
		case by != nil && by.bad == nil && f.bad == nil && otherLogs(by.file.info.Log, f.file.info.Log):
			reject("its positions overlap those of "+by.name+", and it is of another log", keptByImport)
		case by != nil && by.bad == nil && f.bad == nil && by.positions.contains(f.positions) && by.file.info.Applied > f.file.info.Applied && by.positions.generation > f.positions.generation:
			s.leftovers = append(s.leftovers, f) // rewritten without deleted rows
		case by != nil && by.bad == nil && f.bad == nil && by.rewrites(f):
			s.leftovers = append(s.leftovers, f)
		case by != nil && by.positions.generation > f.positions.generation && by.positions == (positions{f.positions.after, f.positions.upto, by.positions.generation}):
			rejectKept("damaged; a crash came between its salvage and its quarantine", "what was intact, in "+by.name)
		case by != nil && by.positions.generation > f.positions.generation && by.positions.contains(f.positions) && by.bad == nil:
			s.leftovers = append(s.leftovers, f)
		case by != nil && f.bad != nil:
			reject(f.bad.Error(), "its positions, or some of them, by "+by.name)
		case by != nil:
			reject("its positions overlap those of "+by.name+", and neither was made from the other", "its positions, or some of them, by "+by.name)
		case f.bad != nil && f.positions.after >= truncated && f.positions.after >= upto:
			rejectKept(f.bad.Error(), "all that was in it, which the log still has and replays")
		case f.bad != nil:
			s.unreadable = append(s.unreadable, f)
			kept.add(f.positions, i)
		default:
			s.served = append(s.served, f)
			kept.add(f.positions, i)
			if !foreign(f) {
				upto = max(upto, f.positions.upto) // all of them precede the first that is bad
			}
		}
	}
	return s
}

// misplaced reports whether the file has other positions than its name says: if there
// was a segment of that name, it is gone.
func (f *foundFile) misplaced() bool {
	i := &f.file.info
	return f.properName != "" && (i.After != f.positions.after || i.Upto != f.positions.upto)
}

// keptByImport says what is served of a segment that is not one of the log.
const keptByImport = "nothing; stele import appends its entries"

// rewrites reports whether f was made of another file by a lone rewrite, or several.
func (f *foundFile) rewrites(other *foundFile) bool {
	return f.positions.contains(other.positions) && other.positions.contains(f.positions) &&
		uint64(f.positions.generation) >= uint64(other.positions.generation)+rewriteStep
}

// A positionSet is ranges of positions with a number each, and finds the lowest
// number of those that overlap another range: a segment tree over the bounds of
// all ranges.
type positionSet struct {
	bounds []uint64 // sorted; leaf i has the positions (bounds[i], bounds[i+1]]
	// At a node: the lowest number of a range that covers all of it, or a part.
	covers, overlaps []int
}

const noNumber = math.MaxInt

func newPositionSet(all []*foundFile) *positionSet {
	s := &positionSet{bounds: make([]uint64, 0, 2*len(all))}
	for _, f := range all {
		s.bounds = append(s.bounds, f.positions.after, f.positions.upto)
	}
	slices.Sort(s.bounds)
	s.bounds = slices.Compact(s.bounds)
	s.covers = slices.Repeat([]int{noNumber}, 2*len(s.bounds))
	s.overlaps = slices.Clone(s.covers)
	return s
}

// leaves returns the leaves [from, to) of a range, as indexes of nodes. Its bounds
// are among those of the set.
func (s *positionSet) leaves(p positions) (from, to int) {
	from, _ = slices.BinarySearch(s.bounds, p.after)
	to, _ = slices.BinarySearch(s.bounds, p.upto)
	return from + len(s.bounds), to + len(s.bounds)
}

// nodes calls f with the nodes whose leaves are those from from to to.
func nodes(from, to int, f func(node int)) {
	for ; from < to; from, to = from/2, to/2 {
		if from&1 == 1 {
			f(from)
			from++
		}
		if to&1 == 1 {
			to--
			f(to)
		}
	}
}

// add adds a range.
func (s *positionSet) add(p positions, number int) {
	from, to := s.leaves(p)
	nodes(from, to, func(n int) { s.covers[n] = min(s.covers[n], number) })
	nodes(from, to, func(n int) {
		for ; n > 0; n /= 2 {
			s.overlaps[n] = min(s.overlaps[n], number)
		}
	})
}

// overlapping returns the lowest number of a range that overlaps p, or -1.
func (s *positionSet) overlapping(p positions) int {
	lowest := noNumber
	from, to := s.leaves(p)
	nodes(from, to, func(n int) {
		lowest = min(lowest, s.overlaps[n])
		for n /= 2; n > 0; n /= 2 {
			lowest = min(lowest, s.covers[n])
		}
	})
	if lowest == noNumber {
		return -1
	}
	return lowest
}
