// Package lab measures how fast ways of doing a job are, and says which of
// them are faster only when the data show it.
//
// An [Experiment] is a job with its [Variant]s. [Measure] runs each variant
// in many short blocks, every block a process of its own on fresh files, the
// blocks of all variants interleaved and shuffled, so that a machine that
// drifts does so for all of them. One block is one datum. Measure returns a
// [run.Run]: the raw blocks and the figures derived from them. Package run explains
// the figures, package report writes them for people.
//
// Every variant carries what it promises (package durability), and variants
// that promise different things are not compared unless asked for.
//
// Because a block is the running program started again, a program that
// measures asks IsBlock first; see the example.
//
// Package gobench makes a variant of an existing function for testing.B.
//
// # How long a run takes
//
// Options.Rounds is the most. An experiment ends sooner once every comparison has a
// verdict, unless Options.FixedRounds is set. With Options.Budget all experiments have
// their pilots first; the operations of a block are chosen so that MinRounds of all of
// them fit, with the time for preparing and removing files; the cheapest are measured
// first; and what is left of the time goes where it settles most. Event.Left, and
// run.Run.Forecast, say how long it will take, before the first block.
//
// # Where goroutines wait
//
// An experiment that sets Waits, or a run with Options.Waits, has blocks of its own
// for that question, from which no other figure is made. The process records an
// execution trace of itself, and its block and mutex profile. The runner samples the
// kernel stacks of its threads from outside, where it is permitted. Together they
// divide the goroutine time by cause: running, waiting for the runtime, blocked in
// the kernel. A thread that the runtime has parked is no waiting goroutine. Tracing
// and sampling lengthen the times they measure: rely on shares more than on times.
//
// # Chains of waits and times of system calls
//
// A run with Options.Trace has those blocks too, and follows the waits in their
// execution traces: each wait back to the goroutine that ended it, to the time of
// that goroutine in between, and to the ends of its own waits. In three more blocks
// of each variant a BPF program times every system call; where the kernel refuses
// that, its tracepoints do. Both are in run.VariantResult.Trace; see [run.Chain] and
// [run.CallLatency].
//
// # Cost
//
// The lab's own cost is one reading of the clock an operation, some 40 ns;
// operations under a microsecond are timed several at a time, and the result
// says so. Nothing is subtracted.
//
// At the end of a window, about 16 a block, the memory of the process and the
// unwritten pages of the machine are read from /proc, some 20 us. That is in no
// latency and, but for one worker of a parallel block, in no wall time.
//
// # Mistakes to avoid
//
//   - Timing the preparation. Everything before the first call of B.Loop and after
//     the last one is outside the figure; everything between them is in it, the
//     removal of files too.
//   - Files outside B.Dir. Only B.Dir is on the file system that is measured, and is
//     empty for each block.
//   - Claiming in Variant.Promise what the operation does not do. The lab measures
//     time; it does not check a promise. It only names a variant that promises to
//     survive a power cut, changes files and never asks for a sync. Packages crashtest/states and crashtest/power
//     do.
//   - Forgetting IsBlock: each block would start a whole measurement. It comes before
//     the program reads its arguments.
package lab
