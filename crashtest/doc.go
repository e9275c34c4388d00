// Package crashtest crashes file systems, real ones and models of them, and
// asks each time whether what was promised is still there.
//
// Whatever is tested, there are two functions: the work, which tells by ack
// what it promises from now on, and the check, which gets what a crash has left
// and what had been promised until then. The same check goes with all of these:
//
//   - [RecordFS] and [RecordMount] record the operations of the work, in a file
//     system in memory or below a mount. [History.CheckFS] and
//     [History.CheckDir] make all states that a crash may leave: of a short
//     history every one, of a long one thousands, in seconds. A failure tells
//     which operations were lost. It needs no rights in memory, and is the one
//     to begin with.
//   - [FaultsFS] and [FaultsMount] have each call of the work fail, in each way
//     that it can, and a crash come after that if wanted.
//   - [Record] cuts the power under a real ext4, XFS or btrfs. It shows what
//     those do, bugs included, where a model shows what they may do. It needs
//     root, and a second for some dozen cuts.
//   - [Kill] ends the work by kill -9, [Shutdown] stops the file system under
//     it: they are quick and show less.
//
// What is right under [POSIX] is right on every file system that keeps to it.
// Much code in use is not; under [Journaled] it may be, and then rests on the
// habits of ext4 and XFS. And a model knows only what its author knew: what holds data
// that matters goes under the power cuts of Record too.
//
// # Crash states
//
// A program that takes its file system as an interface is given an [FS]:
//
//	h, err := crashtest.RecordFS(nil, func(fsys *crashtest.FS, ack func(string)) error {
//		... // write to fsys; once a write is done and synced, ack it
//	})
//	report := h.CheckFS(crashtest.StateOptions{}, func(fsys *crashtest.FS, acked []string) error {
//		... // is all that was acked in fsys?
//	})
//	if err := report.Err(); err != nil {
//		t.Error(err)
//	}
//
// Any other, also one that is not written in Go, runs below a mount:
//
//	h := crashtest.RecordMount(t, crashtest.MountOptions{}, func(dir string, ack func(string)) error { ... })
//	report := h.CheckDir(crashtest.StateOptions{}, func(dir string, acked []string) error { ... })
//
// A history is cut before each sync, before each acknowledgement and at its
// end: what a cut elsewhere leaves, with the same ledger, one of these leaves
// too. At each place
// some operations are durable, by syncs; each of the others may be there, be
// lost, or be torn, by the rules of the [Model]. States that look the same to
// a program are checked once. If there are more than StateOptions.Max, some
// are drawn by the seed, and the report says so. A state that fails is reduced
// to what it needs to fail, and has an ID that brings back just that one.
// StateOptions.OnSync leaves syncs out: each that can be left out and is not
// missed is superfluous, or the check is too weak.
//
// A program that takes its file system as an interface wants a method around
// OpenFile, as Go has it: FS.OpenFile returns a *File, not the program's own
// interface. The examples show one.
//
// # Faults
//
//	report := crashtest.FaultsFS(nil, crashtest.FaultOptions{}, work, check)
//
// runs the work once to count its calls, then once for each call and each of
// EIO, ENOSPC, EINTR and a short write that its manual page lists. The work may
// fail then, but what it has acknowledged must be there. A sync that failed
// may have lost what it was to cover, for ever: FaultOptions.Crash shows who
// calls it again and believes the second answer. FaultOptions.Only makes just
// the run that has failed, by its ID.
//
// # Power cuts
//
//	func TestMain(m *testing.M) {
//		crashtest.ServeDisk()
//		os.Exit(m.Run())
//	}
//
//	func TestPowerCuts(t *testing.T) {
//		rec := crashtest.Record(t, crashtest.Options{FS: "xfs"}, func(dir string, ack func(string)) error {
//			... // write below dir; once a write is done and synced, ack it
//		})
//		res := rec.Check(t, 500, func(dir string, acked []string) error {
//			... // is all that was acked below dir?
//		})
//		if len(res.Lost) > 0 {
//			t.Error(res)
//		}
//	}
//
// [Record] makes a file system on a loop device over a file that a process of
// its own serves by FUSE. That process, the disk, logs every write, discard
// and flush that the file system sends it, in order, with the data. The
// ledger of what was acknowledged lies in the memory of the test, outside the
// file system, and ties each entry to the length of the log at that moment.
//
// [Recording.Check] then rebuilds what a disk may hold after a power cut. It
// cuts the log somewhere: all that was written before the last flush is
// there; of what was written after it, any part may be. Each of those writes
// is kept, dropped or torn between sectors, by chance and by the seed. The
// image is mounted, so that the file system replays its journal, and handed
// to the check with what had been acknowledged before the cut.
//
// Beside it are two rigs that are faster and show less: [Shutdown] does not
// show whether the disk was told to flush, and [Kill] shows nothing about
// syncs at all. They stand in for a power cut as little as timing does.
//
// A check shows something only if it fails where it should: run it on mutants
// too, the same code with a sync removed. Options.OnSync removes them from
// outside, one by one, without a change to the code.
//
// # What the models do not have
//
//   - What a file system does wrong, and its own recovery. (On btrfs, Linux
//     6.18, a name that was created and synced may be gone, with the old file
//     and the new one, once a file that was not synced was renamed over it and
//     any third one was synced: only Record shows that. The test
//     TestBtrfsLosesBothNames does it.)
//   - Old content of the disk in a file that has grown: there are zeros. A
//     write torn elsewhere than where a sector of 512 bytes begins. Of a write
//     to more than three sectors not every mixture is tried.
//   - Times, and room: the disk is full only where a fault says so.
//   - Below a mount: sync(2) and syncfs(2), which the kernel answers without a
//     word to a FUSE; collapsing and inserting of ranges, which fail there, as
//     do clones (FICLONE) and attributes other than user.*; setuid bits and
//     what is in devices.
//   - Orders in which parallel work might have run, and did not: one run is
//     recorded. Record it several times.
//
// # What the power cuts do not have
//
//   - A disk that lies: one that answers a flush without flushing, that
//     writes half a sector, that damages sectors it was not writing, or that
//     loses what it had flushed.
//   - A power cut during the recovery from a power cut.
//   - Devices with other properties than this one: a volatile write cache, no
//     FUA (the kernel sends a flush after the write instead), 512-byte sectors
//     that are written whole or not at all, discarded sectors that read as
//     zeros. Only the superblock is never torn: no file system mounts then.
//   - Orders in which the kernel might have sent the writes, and did not: one
//     run is recorded, and cut everywhere. Record parallel work several times.
//   - Errors of the disk, and a disk that is full.
//
// # Mistakes to avoid
//
//   - Acknowledging before the sync has returned, or doing more before the
//     acknowledgement: the ledger then promises what nobody promised, or too little.
//   - A check that cannot fail. Run it on a mutant, the same work with one sync left
//     out (OnSync of Options and of StateOptions): if that passes, the check is too
//     weak or the sync superfluous.
//   - Showing level Power by Kill or Shutdown: what is in the page cache, or in the
//     device's cache, survives them.
//   - Passing under Journaled and promising every file system.
//   - Files that work keeps open, or goroutines that it leaves: they write beside the
//     check, and the file system cannot be unmounted.
package crashtest
