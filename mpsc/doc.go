// Package mpsc is a queue from many goroutines to one: bounded, lossless, and
// faster than a channel.
//
// When the queue is full a producer waits, or is told so: nothing is
// overwritten and nothing dropped unseen. A value whose push returned nil is
// given to the consumer exactly once, whatever contexts are cancelled and
// whenever the queue is closed; one whose push returned an error never is.
// The values of one producer come out in the order in which it pushed them;
// the values of all come out in one order, that in which they were accepted.
//
// Nothing survives the end of the process: what is in the queue is in memory.
//
// # Waiting
//
// A producer is woken as soon as there is room, the consumer as soon as there
// is a value. Producers that wait are woken in the order of their waiting, but
// one that comes just then may be faster; so no producer is sure of a place
// before another, as with a mutex. A push or a pop allocates nothing once as
// many producers have waited at once as ever do.
//
// # Mistakes to avoid
//
//   - Pop, TryPop and PopBatch belong to one goroutine at a time. Two consumers at
//     once are a data race.
//   - After Close the consumer must go on until ErrClosed, or what was accepted is
//     lost with the queue.
//   - A nil error of Push says that the consumer is given the value, not that it
//     has been. Answer the producer by a channel in the value where it matters.
//   - TryPop may find nothing although a Push has returned, while an earlier Push
//     is under way. Wait with Pop.
//   - Do not use the zero value of a Queue; New makes one.
//
// # When to use it
//
// For a writer that gathers what many goroutines hand it: PopBatch waits for
// the first value only and takes all that are there. Where a goroutine must
// wait for several things at once, use a channel, which select understands.
// With 4 to 64 producers on two cores PopBatch passed values of 8 and 64 bytes
// at 3.8 and 2.7 times a channel's rate, Pop at 2.2 and 1.6 times: it frees
// each slot by a store of its own, and each store waits for the ones before.
// (To move values out of the ring ahead of Pop, still freeing one by one, made
// that 1.7 and 1.2.)
// BenchmarkQueue holds the two against each other; with STELE_LONG=1 the test
// Rate prints the ratio from interleaved rounds.
package mpsc
