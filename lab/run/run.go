package run

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stele-go/stele/lab/stats"
)

// Schema names the layout of a Run written as JSON. The number grows when a
// reader of the old layout would misread the new one; fields may be added
// without that.
const Schema = "stele.run/2"

// A Run is the result of one call of lab.Measure: the raw blocks, the figures
// derived from them, the places and the settings. bench --json writes it; compare
// and report read it.
type Run struct {
	Schema   string    `json:"schema"`
	Version  string    `json:"stele_version"`      // of the program that measured
	Build    *Build    `json:"build,omitempty"`    // of the program that measured; nil where the program does not know
	Command  []string  `json:"command,omitempty"`  // as it was called
	Started  time.Time `json:"started"`            //
	Duration Nanos     `json:"duration_ns"`        // wall time of the whole run
	Seed     uint64    `json:"seed"`               // of the order of blocks and of the bootstrap
	Partial  *Partial  `json:"partial,omitempty"`  // why the run is not complete; nil when it is
	Settings Settings  `json:"settings"`           // as asked for
	Forecast *Forecast `json:"forecast,omitempty"` // how long the run was expected to take; nil in older runs
	Clock    Clock     `json:"clock"`              // the cost of reading the clock
	Places   []Place   `json:"places"`             // where it was measured
	Results  []*Result `json:"results"`            // one an experiment and place
	Claims   []Claim   `json:"claims,omitempty"`   // verdicts on published claims
	Notes    []Note    `json:"notes,omitempty"`    // remarks about the whole run
	// Against is the other program of the run, and Gate the verdict on this one against
	// it; nil where there was none.
	Against *Against       `json:"against,omitempty"`
	Gate    *CompareReport `json:"gate,omitempty"`
	// Left are directories of blocks that could not be removed after the run.
	Left []LeftDir `json:"left,omitempty"`
}

// A LeftDir is a directory that could not be removed.
type LeftDir struct {
	Dir   string `json:"dir"`
	Error string `json:"error"`
}

// A Partial says why a run is not complete.
type Partial struct {
	Cause string `json:"cause"`              // the text of an error; a sentence in a run of version 1
	After Nanos  `json:"after_ns,omitempty"` // since the run started
	Begun int    `json:"experiments_begun,omitempty"`
	Of    int    `json:"experiments,omitempty"` // that were to be run; 0 in a run of version 1
}

// A Forecast says how long a run was expected to take. Run.Duration says how long
// it took.
type Forecast struct {
	Before Nanos `json:"before_ns"`                 // before the first block, from the numbers of blocks
	Pilots Nanos `json:"after_pilots_ns,omitempty"` // once each experiment had its pilots; 0 where no block came after that
}

// Nanos is a duration in nanoseconds.
type Nanos int64

// Settings are the options that the meaning of the figures depends on.
type Settings struct {
	Rounds    int     `json:"rounds"`              // blocks a variant
	BlockTime Nanos   `json:"block_time_ns"`       // aimed at by the pilot
	Budget    Nanos   `json:"budget_ns,omitempty"` // of the whole run; 0 is no limit
	Tolerance float64 `json:"tolerance"`           // 0.05 is 5 %
	Test      string  `json:"test"`                // "bootstrap", "welch" or "mannwhitney"
	MixLevels bool    `json:"mix_levels"`          // comparisons across promises were asked for
	InProcess bool    `json:"in_process"`          // blocks shared a process: weaker isolation
	Quick     bool    `json:"quick,omitempty"`     // the quick set, not the full one
}

// Clock is the cost of the timer itself, measured in this run and not
// subtracted from anything.
type Clock struct {
	PerReading Nanos   `json:"reading_ns"`    // median of one reading
	PerOp      float64 `json:"loop_ns"`       // the whole of B.Loop, an empty operation
	Resolution Nanos   `json:"resolution_ns"` // smallest difference seen
}

// A Place is a directory in which experiments were run.
type Place struct {
	Name        string      `json:"name"` // as asked for: a directory, or "ext4" for a loop image
	Environment Environment `json:"environment"`
	// Caps are the conditions for which less survives here than variants promise.
	Caps []Cap `json:"caps,omitempty"`
}

// A Result is one experiment in one place.
type Result struct {
	ID       string `json:"id"`
	Suite    string `json:"suite"`
	Name     string `json:"name"`
	Params   Params `json:"params,omitempty"`
	Question string `json:"question"`
	Op       string `json:"op"`
	Place    string `json:"place"` // Name of the Place
	// Variants in the order of the experiment.
	Variants []VariantResult `json:"variants"`
	// Comparisons, one for each variant that has a baseline other than itself.
	Comparisons []Comparison `json:"comparisons"`
	// Refused are the variants that were not compared with the experiment's
	// first baseline because they promise something else.
	Refused []Refusal `json:"refused,omitempty"`
	// Noise is the A/A calibration: how far apart two runs of the very same
	// variant were. nil where it was switched off.
	Noise *Noise `json:"noise,omitempty"`
	// MoreNoise is the same for the baselines of the other promises, where
	// something was compared with them.
	MoreNoise []Noise `json:"more_noise,omitempty"`
	// Surfaces are heat maps over the settings of a way, and their knees.
	Surfaces []Surface `json:"surfaces,omitempty"`
	// Rounds is how many rounds were run; Settings.Rounds is the most there
	// could be.
	Rounds int `json:"rounds_run"`
	// Looks are the numbers of rounds after which the verdicts were looked at, in
	// order, to end early if they are clear. They widen every interval of the
	// result; see Run.Analyse.
	Looks []int `json:"looks,omitempty"`
	// Stopped is why there are no more rounds, one of the Stopped constants; "" in
	// older runs.
	Stopped string `json:"stopped,omitempty"`
	// Cut is set where the budget had room for fewer rounds than a verdict takes.
	Cut *Cut `json:"cut,omitempty"`
	// Findings answer the question, one for each promise.
	Findings []Finding `json:"findings"`
	// Blocks are the raw data, in the order in which they ran.
	Blocks []Block `json:"blocks"`
}

// Why an experiment has no more rounds: Result.Stopped.
const (
	StoppedClear       = "clear"       // every comparison had a verdict at the last of Looks
	StoppedNoGain      = "no-gain"     // more rounds would not have settled the others; differences of 1.25 times would have been seen
	StoppedRounds      = "rounds"      // it has the most rounds that were asked for
	StoppedBudget      = "budget"      // the time was up, or would not have settled it
	StoppedInterrupted = "interrupted" // the run was ended
)

// A Refusal is the variants of one promise that were not compared with those
// of another one.
type Refusal struct {
	Promise  Promise  `json:"promise"`
	Variants []string `json:"variants"`
	Baseline string   `json:"baseline"` // the experiment's first one
}

// A Cut says how many rounds a budget had room for.
type Cut struct {
	Rounds int   `json:"rounds"`  // that were run
	Needed int   `json:"needed"`  // that a verdict takes
	Took   Nanos `json:"took_ns"` // the rounds, with their pilots
}

// A VariantResult is the figures of one variant by itself.
type VariantResult struct {
	Name     string  `json:"name"`
	Doc      string  `json:"doc"`
	Promise  Promise `json:"promise"`
	Baseline bool    `json:"baseline"`
	// Here is what the Caps of the place leave of Promise, and Capped are the codes of
	// those that apply.
	Here   Promise  `json:"here"`
	Capped []string `json:"capped,omitempty"`
	Cell   *Cell    `json:"cell,omitempty"`  // its place on a surface
	Error  string   `json:"error,omitempty"` // why it could not be measured
	// Unsupported: it could not be measured because this place cannot do it
	// that way, and that is no failure of the run.
	Unsupported bool `json:"unsupported,omitempty"`
	// Time is the time of one operation in nanoseconds, one datum a block.
	Time Estimate `json:"time_ns"`
	// Parallel is the number of operations that run at a time, of variants that use
	// B.Parallel or B.InFlight; else 0. Time is the wall time of a block by its
	// operations then, no operation's own time: show OpsPerSecond, and Latency for
	// one operation.
	Parallel int `json:"parallel,omitempty"`
	// Open is set for an open model (B.OpenModel): Time is the mean latency, and
	// OpsPerSecond the rate at which operations came, or less where they were not kept
	// up with.
	Open bool `json:"open_model,omitempty"`
	// OpsPerSecond is the number of operations in a second of wall time, all
	// goroutines together, one datum a block: the reciprocal of Time, but for an open
	// model, whose Time is its mean latency.
	OpsPerSecond Estimate `json:"ops_per_second,omitzero"`
	// Batch is the number of operations a clock reading stands for; 1 where
	// each operation was timed by itself.
	Batch int64 `json:"batch"`
	// Latency holds percentiles of single operations over all blocks.
	Latency []Percentile `json:"latency"`
	// Metrics are medians over the blocks, by name; see Metrics for units. N
	// of an estimate says how many blocks had the figure.
	Metrics map[string]Estimate `json:"metrics"`
	// Missing says why a metric is not available here, by name.
	Missing map[string]Reason `json:"missing,omitempty"`
	// Syscalls are calls an operation by name, from the counting blocks.
	// nil where they could not be counted; then Missing["syscalls"] says why.
	Syscalls map[string]float64 `json:"syscalls_per_op,omitempty"`
	// Waits say where goroutines spent their time, from blocks of their own; nil
	// where that was not asked for.
	Waits *VariantWaits `json:"waits,omitempty"`
	// Trace attributes the time, by chains of waits and times of system calls; nil
	// where that was not asked for.
	Trace *VariantTrace `json:"trace,omitempty"`
	// Outliers are rounds whose datum lies outside Tukey's fences (1.5 IQR).
	// They are flagged, and stay in every figure.
	Outliers []int `json:"outlier_rounds,omitempty"`
	// Steady is the verdict of SNIA's steady-state rule on the blocks in time order.
	Steady Steady `json:"steady"`
	// Warnings are reasons to doubt the figures.
	Warnings []Warning `json:"warnings,omitempty"`
}

// An Estimate is a median with its order-statistic interval. Lo and Hi are
// NaN, and null in JSON, where there are too few blocks for an interval.
type Estimate struct {
	Median     float64
	Lo, Hi     float64
	Confidence float64 // the actual one, at least the one asked for
	N          int
}

type estimateJSON struct {
	Median     *float64 `json:"median"`
	Lo         *float64 `json:"lo"`
	Hi         *float64 `json:"hi"`
	Confidence float64  `json:"confidence"`
	N          int      `json:"n"`
}

// MarshalJSON writes NaN and infinities as null.
func (e Estimate) MarshalJSON() ([]byte, error) {
	finite := func(f float64) *float64 {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		return &f
	}
	return json.Marshal(estimateJSON{finite(e.Median), finite(e.Lo), finite(e.Hi), e.Confidence, e.N})
}

// UnmarshalJSON reads null as NaN.
func (e *Estimate) UnmarshalJSON(data []byte) error {
	var j estimateJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	number := func(f *float64) float64 {
		if f == nil {
			return math.NaN()
		}
		return *f
	}
	*e = Estimate{number(j.Median), number(j.Lo), number(j.Hi), j.Confidence, j.N}
	return nil
}

// A Percentile of the latency of single operations.
type Percentile struct {
	P  float64 `json:"p"`  // 50, 99, 99.9
	NS float64 `json:"ns"` // of the operations of all blocks together
	// Lo and Hi bound its 95 % interval, in nanoseconds. Both are 0 where there are too
	// few blocks for one, and where operations were timed several at a time: the
	// percentile is then one of groups.
	Lo float64 `json:"lo_ns,omitempty"`
	Hi float64 `json:"hi_ns,omitempty"`
	// Few is the number of samples where there are too few for the percentile,
	// and 0 where there are enough. NS is 0 then.
	Few int64 `json:"few,omitempty"`
	// None is set where there are no samples.
	None bool `json:"none,omitempty"`
}

// Err returns an error that says how many samples the percentile needs, and
// nil where there are enough.
func (p Percentile) Err() error {
	if p.Few == 0 && !p.None {
		return nil
	}
	if err := stats.CheckPercentile(p.P, p.Few, confidence); err != nil {
		return err
	}
	return fmt.Errorf("p%g needs more than the %d samples for its interval", p.P, p.Few) // of another confidence
}

// Steady says whether a variant had settled.
type Steady struct {
	Reached bool `json:"reached"`
	// First and Last are the rounds at the ends of the window that the rule was
	// applied to, the last one of at least Needed blocks; 0 where there are fewer.
	First     int     `json:"first_round,omitempty"`
	Last      int     `json:"last_round,omitempty"`
	Blocks    int     `json:"blocks"`    // timed
	Needed    int     `json:"needed"`    // blocks in a window
	Excursion float64 `json:"excursion"` // (max-min)/mean over the window
	Slope     float64 `json:"slope"`     // rise of the fitted line over the window, as a share of the mean
	Trend     string  `json:"trend"`     // "none", "rising" or "falling" over all blocks
	TrendP    float64 `json:"trend_p"`   // Mann-Kendall, two-sided
	Rise      float64 `json:"rise"`      // from the first block to the last, as a share of the first: -1 or more
}

// Verdicts of a Comparison. Same is shown by the data. With CannotTell the data show
// neither a difference nor its absence.
const (
	Faster     = "faster"
	Slower     = "slower"
	Same       = "same"
	CannotTell = "cannot tell"
)

// A Comparison of a variant with its baseline.
type Comparison struct {
	Variant  string `json:"variant"`
	Baseline string `json:"baseline"`
	// Mixed is set when the two promise different things. Such a comparison is
	// made with Settings.MixLevels only, and is marked wherever it shows.
	Mixed bool `json:"mixed,omitempty"`
	// Ratio of the variant's time to the baseline's, with its interval.
	Ratio Estimate `json:"ratio"`
	// P is the p-value of Test, PHolm the same after Holm's correction over
	// all comparisons of the run.
	P     float64 `json:"p"`
	PHolm float64 `json:"p_holm"`
	Test  string  `json:"test"`
	// LeastPHolm is the smallest PHolm that so few rounds and so many
	// comparisons allow, however clear the difference; nil where there is no
	// such limit.
	LeastPHolm *float64 `json:"least_p_holm,omitempty"`
	Tolerance  float64  `json:"tolerance"` // the one applied: never less than the noise
	Verdict    string   `json:"verdict"`
	// Visible is the smallest difference that the data would have shown, as a share
	// of the smaller time: 0.2 where 1.2 times would have had a verdict. It is set
	// where Verdict is CannotTell, and 0 where there are not even two rounds.
	Visible float64 `json:"visible,omitempty"`
	// RoundsNeeded is the number of rounds, those that were run included, that would
	// probably bring a verdict (stats.RoundsNeeded). It is set where Verdict is
	// CannotTell, and 0 where no number of rounds can be named: the ratio lies on
	// the edge of the tolerance, or the data are too few to say.
	RoundsNeeded int `json:"rounds_needed,omitempty"`
}

// Noise is the result of the A/A calibration.
type Noise struct {
	Variant string   `json:"variant"`
	Ratio   Estimate `json:"ratio"` // of the variant to itself
	Floor   float64  `json:"floor"` // differences below it mean nothing here
}

// Roles of a block.
const (
	RoleTimed          = "timed"           // one datum
	RoleAgainst        = "against"         // one datum of the other program, see Run.Against; no figure of a VariantResult is made from it
	RoleAgainstCounted = "against-counted" // RoleCounted of the other program
	RolePilot          = "pilot"           // chose the number of operations; not a datum
	RoleCalibration    = "calibration"     // the baseline once more, for the noise
	RoleCounted        = "counted"         // system calls counted, which slows them: never a datum
	RoleWaits          = "waits"           // goroutines and threads watched, which slows them: never a datum
	RoleTraced         = "traced"          // system calls timed by the kernel, which slows them: never a datum
)

// A Block is one process that ran one variant for a while.
type Block struct {
	Variant string `json:"variant"`
	Role    string `json:"role"`
	Round   int    `json:"round"`
	Start   Nanos  `json:"start_ns"` // since the run started
	Ops     int64  `json:"ops"`
	Batch   int64  `json:"batch"` // operations a latency sample
	// Parallel is the number of goroutines of B.Parallel, times the operations that each
	// keeps in flight (B.InFlight); 0 where B.Loop ran one at a time.
	Parallel int   `json:"parallel,omitempty"`
	Wall     Nanos `json:"wall_ns"` // of the timed part
	// Response is the sum of the latencies of an open model, each from the intended
	// start of its operation; 0 for a closed model. See lab.B.OpenModel.
	Response Nanos `json:"response_ns,omitempty"`
	// Latency of single operations, nil where nothing was timed.
	Latency *Histogram `json:"latency,omitempty"`
	// Windows cut the block into pieces of equal time.
	Windows []Window `json:"windows,omitempty"`
	// Metrics by name; see Metrics for the meaning and unit of each.
	Metrics map[string]float64 `json:"metrics"`
	// Missing says why a metric is not available, by name. A metric is in exactly
	// one of the two maps: one that was not measured is not reported as zero.
	Missing map[string]Reason `json:"missing,omitempty"`
	// Syscalls of the timed part by name, counted blocks only.
	Syscalls map[string]int64 `json:"syscalls,omitempty"`
	// SyncRequests is how often the timed part asked for a sync by a flag (O_SYNC or
	// O_DSYNC at open, RWF_SYNC or RWF_DSYNC of a write), and how many files were open
	// that sync each write; counted blocks only. nil where that cannot be known: of
	// io_uring, of a child process, of a server behind a socket.
	SyncRequests *int64 `json:"sync_requests,omitempty"`
	// Waits of the timed part, blocks of role waits only.
	Waits *Waits `json:"waits,omitempty"`
	// Calls are how long the system calls of the timed part took, by name,
	// traced blocks only; where that could not be had Missing["calls"] says why.
	Calls map[string]*CallTimes `json:"call_times,omitempty"`
	// Timed is the source of Calls: SourceBPF or SourceTracepoints.
	Timed string `json:"call_source,omitempty"`
	// Begun is the wall clock when the timer started, traced blocks only.
	Begun int64  `json:"begun_unix_ns,omitempty"`
	Error string `json:"error,omitempty"`
	// Unsupported: Error is an errors.ErrUnsupported.
	Unsupported bool `json:"unsupported,omitempty"`
}

// PerOp is the datum of the block in nanoseconds: the wall time of one operation,
// and in an open model the mean latency.
func (b *Block) PerOp() float64 {
	if b.Ops == 0 {
		return 0
	}
	if b.Response > 0 {
		return float64(b.Response) / float64(b.Ops)
	}
	return float64(b.Wall) / float64(b.Ops)
}

// Quartiles returns the first and the third quartile of the data of one or more
// blocks; see stats.Quantile.
func Quartiles(blocks []*Block) (first, third float64) {
	data := make([]float64, len(blocks))
	for i, b := range blocks {
		data[i] = b.PerOp()
	}
	slices.Sort(data)
	return stats.Quantile(data, 0.25), stats.Quantile(data, 0.75)
}

// A Window is one stretch of a block.
type Window struct {
	At   Nanos   `json:"at_ns"`      // its start since the block's timer started
	Len  Nanos   `json:"len_ns"`     //
	Ops  int64   `json:"ops"`        //
	Mean float64 `json:"mean_ns"`    // of the operations in it
	Max  float64 `json:"max_ns"`     //
	Heap int64   `json:"heap_bytes"` // as last read; of a parallel block one worker reads it
	GCs  int64   `json:"gcs"`        // garbage collections finished in it
	// RSS is the resident memory of the process, and Unwritten the bytes of the whole
	// machine's page cache that are not on a device yet (dirty or being written, by any
	// program), as last read from /proc, at most every 5 ms. Both are 0 in blocks whose
	// system calls are counted or timed, and in older runs.
	RSS       int64 `json:"rss_bytes,omitempty"`
	Unwritten int64 `json:"unwritten_bytes,omitempty"`
}

// A Claim is a published statement put to the test.
type Claim struct {
	ID        string   `json:"id"`               // "D1"; never changes
	Statement string   `json:"statement"`        // the workload
	Claimed   string   `json:"claimed"`          // in the report
	Source    string   `json:"source,omitempty"` // report and section
	Measured  string   `json:"measured"`         // here
	Verdict   string   `json:"verdict"`          // holds, does not hold, depends, cannot tell, cannot be tested here
	Why       string   `json:"why"`              // the reason of the verdict, the condition it depends on, or the missing result
	Promise   string   `json:"promise"`          // the durability of the variants compared
	Place     string   `json:"place"`
	Results   []string `json:"results"` // IDs of the experiments behind it
	// Parts are the questions of the claim with their answers. Measured has them in words.
	Parts []ClaimPart `json:"parts,omitempty"`
}

// Roles of a ClaimPart.
const (
	PartDecides = "decides"
	PartMain    = "main"  // decides, and without it the claim cannot be tested
	PartShown   = "shown" // decides nothing
)

// A ClaimPart is one question of a claim under one condition.
type ClaimPart struct {
	What      string    `json:"what"`                // parts with the same What ask the same question
	Condition string    `json:"condition,omitempty"` // "as coded, warm"
	Role      string    `json:"role"`                // one of the Part constants
	Answer    string    `json:"answer,omitempty"`    // yes, no, cannot tell, cannot be tested here; empty where it decides nothing
	Figure    string    `json:"figure,omitempty"`    // as measured, with its interval
	Limit     string    `json:"limit,omitempty"`     // what was asked of the figure
	Reason    string    `json:"reason,omitempty"`    // what is missing, or what could have been seen and how many rounds would settle it
	Notes     []string  `json:"notes,omitempty"`     // "not the same job"
	Estimate  *Estimate `json:"estimate,omitempty"`  // the figure, where it is no fact
}
