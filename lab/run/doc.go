// Package run is the model of a run of the lab: the raw blocks, the figures and
// verdicts derived from them, and the places they were measured in. It measures
// nothing.
//
//	Run                  one call of lab.Measure: what --json writes
//	  Place              a directory, its Environment, and its Caps: why less survives there
//	  Result             one experiment in one place
//	    Block            one process that ran one variant: the raw data
//	    VariantResult    the figures of one variant: Estimate, Percentile, Steady, Waits, Trace
//	    Comparison       a variant with its baseline: Ratio, Verdict
//	    Finding          the conclusion from the comparisons of one promise
//	  Claim              a published statement put to the test
//
// [Run.Analyse] derives everything in a Result from its blocks, and may do so
// again with other settings. [Run.Write] and [Read] are its JSON. [Compare]
// compares two runs, for a gate.
//
// Findings, warnings and reasons are codes with values; package report words them.
//
// # Meaning of the figures
//
// The time of an operation is a block's wall time divided by its operations.
// Its interval is that of the median by order statistics, which assumes
// nothing about the distribution. A ratio comes from pairs of blocks of one
// round, its interval from a bootstrap over the pairs. A variant is Faster or
// Slower only when the whole interval of its ratio lies outside the tolerance,
// the Same only when it lies inside, and else the lab cannot tell. The tolerance
// is never less than the A/A noise: the difference between the baseline and the same
// baseline once more, in the same run.
//
// # Mistakes to avoid
//
//   - Reading CannotTell as Same. The same needs the whole interval within the
//     tolerance.
//   - Comparing two runs of different days by eye. Compare checks that they are alike,
//     and its intervals are wider: no pairs cancel what changed between the two days.
//   - Reading an interval that is not there: Lo and Hi of an Estimate are NaN where
//     there are too few blocks, and every comparison with NaN is false.
package run
