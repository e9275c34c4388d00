package run

import (
	"cmp"
	"fmt"
	"slices"
)

// A VariantTrace attributes the time of a variant: by chains of waits, from the
// watched blocks, and by times of system calls, from the traced ones. No other figure
// comes from these blocks.
type VariantTrace struct {
	// Blocks is the number of blocks in which calls were timed. Source is SourceBPF or
	// SourceTracepoints.
	Blocks int    `json:"blocks"`
	Source string `json:"source,omitempty"`
	// Calls, the one with the longest total first, those of the Go runtime last.
	Calls []CallLatency `json:"calls,omitempty"`
	// ChainBlocks is how many blocks were followed, Followed the time of the
	// waits in them.
	ChainBlocks int   `json:"chain_blocks"`
	Followed    Nanos `json:"followed_ns"`
	// Chains, the one with most time first. Chains beyond the first 24 are left
	// out.
	Chains []ChainShare `json:"chains,omitempty"`
	// Missing says why "calls" or "chains" are missing.
	Missing map[string]Reason `json:"missing,omitempty"`
}

// A ChainShare is a chain over all blocks of a variant.
type ChainShare struct {
	Chain
	Share float64 `json:"share"` // of the time of all waits followed
	// Kernel are the causes that threads in the last link's system call waited for,
	// where they were sampled, each with its share of the samples, the largest first.
	Kernel []KernelShare `json:"kernel,omitempty"`
}

// A KernelShare is one cause in the kernel, a code as in Wait.Cause.
type KernelShare struct {
	Cause string  `json:"cause"`
	Share float64 `json:"share"`
}

// mostChains is how many chains of a variant are kept.
const mostChains = 24

// How the goroutines of a Link spend the time: Link.How.
const (
	HowBlocked      = "blocked" // by another goroutine, a timer or the network poller
	HowSyscall      = "syscall"
	HowReady        = "ready" // waiting for a processor
	HowRunning      = "running"
	HowBlockedAgain = "blocked-again" // and not followed further
	HowUnfollowed   = "unfollowed"    // its history does not reach back so far
)

// Values of Link.Who for waits that no goroutine ends. Names of functions contain a
// dot.
const (
	WhoTimer   = "timer"   // a timer of the Go runtime
	WhoPoller  = "poller"  // the network poller of the Go runtime
	WhoRuntime = "runtime" // the Go runtime
)

// A Chain is a chain of waits. The goroutines of its first link waited. Those of each
// further link had to act before the link before could go on, and the link names how
// they spent that time. The last link is where the time went. Time is goroutine time
// of the first link: 64 goroutines that wait for one sync wait 64 times as long as it
// takes.
type Chain struct {
	Links []Link `json:"links"`
	Time  Nanos  `json:"time_ns"`
}

// A Link is goroutines of one kind doing one thing.
type Link struct {
	// Who is the outermost function of the variant that they run, or the function
	// they were started with where no such function was seen, or a Who constant.
	Who string `json:"who"`
	How string `json:"how"`          // one of the How constants
	In  string `json:"in,omitempty"` // "sync.(*Mutex).Lock in example.org/app.(*store).put"
	// Call is the system call, "fdatasync", where the Go function that makes it
	// is named after it.
	Call string `json:"call,omitempty"`
	// By is where it released the link before.
	By string `json:"released_by,omitempty"`
}

// Key identifies the chain among those of several blocks.
func (c *Chain) Key() string { return fmt.Sprintf("%q", c.Links) }

// traceOf puts the blocks of a variant together. It returns nil for a variant that was
// not traced.
func traceOf(watched, traced []*Block) *VariantTrace {
	v := &VariantTrace{Missing: map[string]Reason{}}
	if len(traced) == 0 && !slices.ContainsFunc(watched, func(b *Block) bool { return b.Waits != nil && b.Waits.Chained }) {
		return nil
	}
	v.addCalls(traced)
	v.addChains(watched)
	return v
}

func (v *VariantTrace) addChains(watched []*Block) {
	sums := map[string]*ChainShare{}
	kernel := map[string]map[string]Nanos{}
	for _, b := range watched {
		if b.Waits == nil || b.Error != "" {
			continue
		}
		if why := b.Waits.Missing["trace"]; why != (Reason{}) {
			v.Missing["chains"] = why
			continue
		}
		if !b.Waits.Chained {
			continue
		}
		v.ChainBlocks++
		v.Followed += b.Waits.Followed
		for _, c := range b.Waits.Chains {
			k := c.Key()
			if sums[k] == nil {
				sums[k] = &ChainShare{Chain: Chain{Links: c.Links}}
			}
			sums[k].Time += c.Time
		}
		for call, causes := range b.Waits.Kernel {
			if kernel[call] == nil {
				kernel[call] = map[string]Nanos{}
			}
			for cause, t := range causes {
				kernel[call][cause] += t
			}
		}
	}
	if v.ChainBlocks > 0 {
		delete(v.Missing, "chains") // some blocks were followed
	}
	for _, c := range sums {
		c.Share = float64(c.Time) / float64(max(v.Followed, 1))
		c.Kernel = kernelShares(kernel[c.Links[len(c.Links)-1].Call])
		v.Chains = append(v.Chains, *c)
	}
	slices.SortFunc(v.Chains, func(a, b ChainShare) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Key(), b.Key())) })
	v.Chains = v.Chains[:min(len(v.Chains), mostChains)]
}

func kernelShares(causes map[string]Nanos) []KernelShare {
	var all Nanos
	for _, t := range causes {
		all += t
	}
	var out []KernelShare
	for cause, t := range causes {
		if all > 0 {
			out = append(out, KernelShare{cause, float64(t) / float64(all)})
		}
	}
	slices.SortFunc(out, func(a, b KernelShare) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Cause, b.Cause))
	})
	return out
}
