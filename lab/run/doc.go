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
// Findings, warnings, reasons and notes are codes with values; package report words them.
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
// # Ending early
//
// An experiment is looked at after 6, 8, 11, 15, 20, 27, ... rounds, and may end there:
// see [Run.Look]. A measurement that is looked at often enough shows differences that
// are not there. So each look has a share of the error of 5 %, fixed beforehand, and the
// interval that is reported is the one of the look that ended the experiment: of 99.5 %
// at the first look, and of 95.5 to 97 % where the rounds or the time ended it.
//
// In simulated experiments of four ways, with blocks that vary by 2 to 30 %, outliers
// and drift, at most 2 of 100 experiments of equal ways get a wrong verdict, and the
// intervals cover the truth in 97 of 100. A way that takes 1.5 times as long is found
// in 97 of 100 within 20 rounds of blocks that vary by 15 %. The command is
//
//	STELE_LONG=1 go test ./lab/run -run Looks -v
//
// [Result.Stopped] says what ended an experiment, [Result.Looks] where it was looked at.
// Analyse derives the same intervals from them again. Where the verdict is CannotTell,
// [Comparison.Visible] says which difference would have been seen, and
// [Comparison.RoundsNeeded] how many rounds would probably do.
//
// The rounds of an experiment may lie apart in time: with a budget some come in a later
// pass. The two of a pair never do. A Steady state or a trend is then one over both
// passes.
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
