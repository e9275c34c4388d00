// Package crashtest is the map of two kits that crash a program's file system
// and ask whether everything that was promised is still there.
//
//   - [github.com/stele-go/stele/crashtest/states] needs no rights, and is the
//     one to begin with. It records the file operations of a program, in a file
//     system in memory or below a FUSE mount, and makes every state that a crash
//     may leave under a model of file systems: thousands in seconds. A failure
//     names the operations that were lost. It also makes each call of the program
//     fail, in each way that it can.
//   - [github.com/stele-go/stele/crashtest/power] needs root. It cuts the power
//     under a real ext4, XFS or btrfs, about a dozen times a second, and shows what
//     they really do, bugs included. A model shows what they may do. Tests use it
//     through [github.com/stele-go/stele/crashtest/power/powertest],
//     which can also end the work by kill -9.
//
// Both take two functions: the work, which acknowledges by ack each promise from then
// on, and the check, which gets the files that a crash has left and the promises until
// then. Both kits take the same check.
//
// Code that is right under states.POSIX is right on every file system that
// keeps to POSIX. Much code in use is not; under states.Journaled it may be,
// and then rests on the habits of ext4 and XFS. A model knows only what its
// author knew: test code that holds important data under power cuts too.
//
// This package has what both kits share: the syncs that a mutant leaves out.
//
// # Mistakes to avoid
//
//   - Acknowledging before the sync has returned, or doing more before the
//     acknowledgement: the ledger then promises too much, or too little.
//   - A check that cannot fail. Run it on a mutant, the same work with one sync
//     left out (OnSync in the Options of both kits): if that passes, the check is
//     too weak or the sync superfluous.
//   - Showing level Power by a kill or by a shutdown of the file system: data in
//     the page cache, or in the device's cache, survives them. Timing shows
//     nothing about durability at all.
//   - Passing under Journaled and promising every file system.
//   - Leaving files open, or goroutines running, when the work returns: they write
//     beside the check, and the file system cannot be unmounted.
package crashtest
