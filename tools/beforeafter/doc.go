// Command beforeafter runs the benchmarks of a base revision and of the working
// tree beside each other, and says how many times as long each takes after the
// change as before it:
//
//	go run ./tools/beforeafter -base main ./mkdir ./newfile
//	go run ./tools/beforeafter -base main -fs ext4,xfs -bench 'Create|Queue' ./newfile
//
// Each benchmark (each leaf of b.Run) runs in a process of its own, the two
// sides one after the other in an order that is drawn anew for each pair, so
// that other load on the machine slows both. The ratio is the median of the
// pairs' ratios with its 95 % interval (lab/stats). If the interval is wholly
// above the mark (1.03), as many pairs are measured again, and the benchmark is
// marked only if their interval is wholly above it too: of a hundred benchmarks
// that did not change, a single series would mark some.
//
// CPU is user and system time of the process an iteration, less that of a run
// of one iteration. Time to prepare cancels where it does not depend on the
// number of iterations.
//
// Benchmarks that the base does not have yet are compared too if -with names their
// files: they are copied into the base, whose exported names must be enough for them.
// A benchmark may keep what takes long to prepare in the directory STELE_BENCH_SHARED,
// which all processes of one side share.
//
// Files are in the directory for temporary files (TMPDIR), in -dir, or with -fs, as
// root, on an image of each file system. The base is unpacked beside them, and
// nothing is left behind; the repository is only read.
//
// Exit codes: 0, 1 if a benchmark is marked or something failed, 2 for a wrong
// call, 130 when interrupted, with the results so far printed.
package main
