// Package run is the model of a run of the lab: the raw blocks, what follows
// from them, and where they were measured. It measures nothing.
//
//	Run                  one call of lab.Measure: what --json writes
//	  Place              a directory and its Environment
//	  Result             one experiment in one place
//	    Block            one process that ran one variant: the raw data
//	    VariantResult    what the blocks say of one variant: Estimate, Percentile, Steady, Waits, Trace
//	    Comparison       a variant with its baseline: Ratio, Verdict
//	    Finding          what the comparisons of one promise come to
//	  Claim              a published statement put to the test
//
// [Run.Analyse] derives everything in a Result from its blocks, and may do so
// again with other settings. [Run.Write] and [Read] are its JSON. [Compare]
// compares two runs, for a gate.
//
// What was found is codes and values: words are the business of package report.
//
// # What a figure means
//
// The time of an operation is a block's wall time divided by its operations.
// Its interval is that of the median by order statistics, which assumes
// nothing about the distribution. A ratio comes from pairs of blocks of one
// round, its interval from a bootstrap over the pairs. A variant is Faster or
// Slower only when the whole interval of its ratio lies outside the tolerance,
// the Same only when it lies inside, and else the lab cannot tell. The tolerance
// is never less than the A/A noise: how far apart the baseline and the very same
// baseline were in the same run.
//
// # Mistakes to avoid
//
//   - Reading CannotTell as Same. The same needs the whole interval within the
//     tolerance.
//   - Comparing two runs of different days by eye. Compare knows what changed between
//     them, and their ratio has no pairs that would cancel it.
//   - Reading an interval that is not there: Lo and Hi of an Estimate are NaN where
//     there are too few blocks, and every comparison with NaN is false.
package run
