// Package crashtest cuts the power under a real file system, hundreds of
// times, and asks each time whether what was promised is still there.
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
// # How
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
// # What it does not model
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
package crashtest
