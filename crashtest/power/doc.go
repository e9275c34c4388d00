// Package power cuts the power under a real ext4, XFS or btrfs and checks what
// is left. It needs Linux and root. Tests use it through package powertest,
// which skips where this one returns crashtest.ErrUnavailable.
//
//	func main() {
//		power.ServeDisk()
//		...
//		rec, err := power.Record(power.Options{FS: "xfs"}, func(dir string, ack func(string)) error {
//			... // write below dir; once a write is done and synced, ack it
//		})
//		...
//		res, err := rec.Check(500, func(dir string, acked []string) error {
//			... // is all that was acked below dir?
//		})
//		err = rec.Close()
//	}
//
// # How it works
//
// [Record] makes a file system on a loop device over a file that a process of
// its own serves by FUSE. That process, the disk, logs every write, discard and
// flush that the file system sends it, in order, with the data. The ledger of
// acknowledgements is kept in memory, outside the file system, and ties each
// entry to the length of the log at that moment.
//
// [Recording.Check] rebuilds what a disk may hold after a power cut. It cuts the
// log somewhere: everything written before the last flush is there. Each write
// after it is kept, dropped or torn between sectors, drawn by the seed. The image
// is mounted, so that the file system replays its journal, and handed to the
// check with the entries that had been acknowledged before the cut.
//
// [Shutdown] stops the file system instead. It is quicker and shows less: not
// whether the disk was told to flush.
//
// A check shows something only if it fails where it should. Options.OnSync makes
// mutants of the work: it removes syncs one by one, without a change to the code.
//
// [SyncTable] uses all this to show what each way to sync makes durable.
//
// # What the power cuts do not have
//
//   - A disk that lies: one that answers a flush without flushing, writes half a
//     sector, damages sectors that it was not writing, or loses flushed data.
//   - A power cut during the recovery from a power cut.
//   - Devices with other properties than this one: a volatile write cache, no FUA
//     (the kernel sends a flush after the write instead), 512-byte sectors that
//     are written whole or not at all, discarded sectors that read as zeros. Only
//     the superblock is never torn: no file system mounts then.
//   - Orders in which the kernel might have sent the writes, and did not: one run
//     is recorded, and cut everywhere. Record parallel work several times.
//   - Errors of the disk, and a full disk.
package power
