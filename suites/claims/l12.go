package claims

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/internal/datafile"
	"github.com/stele-go/stele/suites/job"
)

// The variants of L12.
const (
	l12Plain   = "slices of a mapping"
	l12Advised = "MADV_WILLNEED first"
	l12Aligned = "entries that start at multiples of 4 KiB"
	l12Unsafe  = "unsafe.Slice"
)

// The segment and the entries of L12.
const (
	l12File    = 64 * datafile.MiB
	l12Least   = 200 // bytes of an entry
	l12Most    = 4 << 10
	l12Entries = 4096 // of a block
)

// l12Lengths are the most bytes of an entry, on a warm mapping.
var l12Lengths = []int{512, l12Most}

// An l12Entry is a part of the segment.
type l12Entry struct{ off, length int }

// l12Pick returns entries at random, no two in the same 16 KiB, so that each begins on a
// page that no other has touched.
func l12Pick(b *lab.B, size int64, most int, aligned bool) []l12Entry {
	const apart = 4 * datafile.PageSize
	slots := b.Rand.Perm(int(size / apart))
	list := make([]l12Entry, min(l12Entries, len(slots)))
	for i := range list {
		list[i] = l12Entry{slots[i] * apart, l12Least + b.Rand.IntN(most-l12Least+1)}
		if start := b.Rand.IntN(datafile.PageSize); !aligned {
			list[i].off += start
		}
	}
	return list
}

// l12Sum looks at every byte of an entry.
func l12Sum(p []byte) (sum uint64) {
	for _, c := range p {
		sum += uint64(c)
	}
	return sum
}

// l12Map maps the segment as coded: of a fixed size, for reading, not populated. It is shared
// where the code has MAP_PRIVATE, which is alike for reading.
func l12Map(b *lab.B, s job.Scale, prepare func(f *datafile.File) error, use func(data []byte) error) error {
	return withNoise(b, s.Of(l12File), prepare, func(f *datafile.File) error {
		data, err := sys.Mmap(f.File, int(f.Size), false)
		if err != nil {
			return err
		}
		return errors.Join(use(data), sys.Munmap(data))
	})
}

// l12Cold times accesses to entries that nobody has read, each once more after all of them.
func l12Cold(s job.Scale) lab.Experiment {
	variant := func(name, doc string, first func(data []byte) error) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return l12Map(b, s, (*datafile.File).Chill, func(data []byte) error {
				begun := time.Now()
				if err := first(data); err != nil {
					return err
				}
				b.Report("advice_ns", float64(time.Since(begun)))
				return l12TouchTwice(b, data)
			})
		}}
	}
	return lab.Experiment{
		Suite: "claims", Name: "L12-cold", Question: "Where does the p99 of a cold mapping come from?",
		Op: "4,096 random entries of 200 B to 4 KiB of a mapped segment that is not in the page cache, each looked at, and then each once more", Ops: 1, MaxRounds: 12,
		Variants: firstIsBaseline(
			variant(l12Plain, "A: data[offset:offset+length]", func([]byte) error { return nil }),
			variant(l12Advised, "B: MADV_WILLNEED on the whole segment before the first access", func(data []byte) error {
				return sys.Madvise(data, sys.MemWillNeed)
			})),
	}
}

// l12TouchTwice reports the p99 of first and of second accesses, and how many of the
// slowest hundredth of all were first ones.
func l12TouchTwice(b *lab.B, data []byte) error {
	entries := l12Pick(b, int64(len(data)), l12Most, false)
	first, second := run.NewHistogram(), run.NewHistogram()
	type access struct {
		took  time.Duration
		first bool
	}
	var all []access
	sum := uint64(0)
	for b.Loop() {
		for again, into := range []*run.Histogram{first, second} {
			for _, e := range entries {
				begin := time.Now()
				sum += l12Sum(data[e.off : e.off+e.length])
				took := time.Since(begin)
				into.Record(max(1, int64(took)))
				all = append(all, access{took, again == 0})
			}
		}
	}
	runtime.KeepAlive(sum)
	slices.SortFunc(all, func(a, b access) int { return int(b.took - a.took) })
	slowest, firsts := all[:max(1, len(all)/100)], 0
	for _, a := range slowest {
		if a.first {
			firsts++
		}
	}
	b.Report("first_share_of_slowest", float64(firsts)/float64(len(slowest)))
	reportPercentile(b, "first", first, 99)
	reportPercentile(b, "second", second, 99)
	return nil
}

// l12Warm times accesses to a segment that is in the page cache and in the page table.
func l12Warm(s job.Scale, most int) lab.Experiment {
	variant := func(name, doc string, aligned bool, look func(data []byte, e l12Entry) uint64) lab.Variant {
		return lab.Variant{Name: name, Doc: doc, Promise: job.NothingWritten(), Run: func(b *lab.B) error {
			return l12Map(b, s, (*datafile.File).Warm, func(data []byte) error {
				entries := l12Pick(b, int64(len(data)), most, aligned)
				sum := uint64(0)
				for _, e := range entries {
					sum += look(data, e)
				}
				took := run.NewHistogram()
				for b.Loop() {
					e := entries[b.I()%int64(len(entries))]
					begin := time.Now()
					sum += look(data, e)
					took.Record(max(1, int64(time.Since(begin))))
				}
				runtime.KeepAlive(sum)
				b.Report("access_mean_ns", took.Mean())
				reportPercentile(b, "access", took, 99)
				return nil
			})
		}}
	}
	sliced := func(data []byte, e l12Entry) uint64 { return l12Sum(data[e.off : e.off+e.length]) }
	return lab.Experiment{
		Suite: "claims", Name: "L12-warm", Params: run.Params{"length": strconv.Itoa(most)},
		Question: "Do alignment or unsafe.Slice make accesses to a warm mapping faster?",
		Op:       fmt.Sprintf("a random entry of 200 to %d B of a mapped segment in the page table, looked at", most), Stateless: true, MaxRounds: 12,
		Variants: firstIsBaseline(
			variant(l12Plain, "A: data[offset:offset+length]", false, sliced),
			variant(l12Aligned, "C: as A, and each entry starts on a page", true, sliced),
			variant(l12Unsafe, "D: unsafe.Slice at the entry's address, which checks no bounds", false, func(data []byte, e l12Entry) uint64 {
				return l12Sum(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(data)), e.off)), e.length))
			})),
	}
}

func claimL12(s job.Scale) Claim {
	return Claim{
		ID: "L12",
		Source: reportL.source("4.1",
			"The p99 of a mapping comes from page faults of over 300 us, TLB misses and collections, and MADV_WILLNEED, aligned slices and unsafe.Slice cure it."),
		Statement: "random entries of a mapped segment: plain slices (A), MADV_WILLNEED first (B), entries that start at multiples of 4 KiB (C), unsafe.Slice (D)",
		Claimed:   "first touch over 300 us; B, C and D lower the tail",
		Promise:   noneText,
		Experiments: append([]lab.Experiment{l12Cold(s)},
			experiments(func(most int) lab.Experiment { return l12Warm(s, most) }, l12Lengths...)...),
		judge: judgeL12,
	}
}

func judgeL12(ev *evidence) judgement {
	cold := idOf(l12Cold(1))
	first := ev.metric(cold, l12Plain, "first_p99_ns")
	parts := []part{
		least("cold, share of first touches among A's slowest hundredth", ev.metric(cold, l12Plain, "first_share_of_slowest"), 0.5, shareText),
		direction("cold, p99 of A against B", ev.ratioOf(cold, "first_p99_ns", l12Plain, l12Advised)),
		least("cold, p99 of A's first touches", first, 300e3, micros).onlyShown(),
	}
	if advice := ev.metric(cold, l12Advised, "advice_ns"); advice.Median > 0 {
		parts = append(parts, figureOf("the advice itself", lasting(advice)))
	}
	for _, most := range l12Lengths {
		id, condition := idOf(l12Warm(1, most)), fmt.Sprintf("entries of 200 to %d B", most)
		ratio := func(metric, v string) run.Estimate { return ev.ratioOf(id, metric, l12Plain, v) }
		parts = append(parts, direction("warm, p99 of A against C", ratio("access_p99_ns", l12Aligned)).under(condition),
			either(direction("warm, mean of A against D", ratio("access_mean_ns", l12Unsafe)),
				direction("warm, p99 of A against D", ratio("access_p99_ns", l12Unsafe))).under(condition))
		if collected, why := ev.known(id, l12Plain, "gc_count"); why == "" {
			parts = append(parts, figureOf("collections, "+condition, fmt.Sprintf("%.0f in a block of A, which allocates nothing", collected.Median)))
		}
	}
	return ruling("A's p99 lies in first touches if most of its slowest hundredth are such, where each entry is touched twice. B, C and D had to be lower, by 1.05x or more. TLB misses take counters and are not judged.", parts...)
}
