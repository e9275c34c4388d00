// Package iojob measures jobs of reads and writes that are described by settings, as
// fio does: block sizes, a mix of reads and writes, a pattern of offsets, requests in
// flight, syncs, and a rate.
//
//	Job         the settings of one job, made by Set from text or by ParseFile
//	Layout      writes the file that jobs work on
//	Experiment  makes an experiment of jobs, each a variant
//
// # Closed and open model
//
// A job without a rate is a closed model: each thread starts an operation when one of
// its requests has ended. An operation that stalls then delays those behind it
// without their latency showing it (coordinated omission). A job with a rate is an
// open model: operations are to start at times that do not depend on how long others
// take, and a latency counts from that time, also where the operation had to wait for
// those before it. The time of an operation is then the mean latency.
//
// # Engines and files
//
// Reads and writes are system calls, requests of an io_uring, or copies from and to a
// mapping of the file. Jobs work on a file that is laid out beforehand; one that appends
// (rw append) has a file for each thread, empty at the start of a block and again when it
// has Size bytes.
//
// # Promise
//
// What a job promises follows from its settings. Reads promise nothing, as they write
// nothing. A job that syncs every write before it counts as done promises
// durability.Power, any other that writes durability.Kill. An overwrite in place may
// be torn by a crash.
package iojob
