// Package states makes every state that a crash may leave a program's files in,
// makes every call fail in every way that it can, and checks the result of each.
//
// A program that takes its file system as an interface gets an [FS]. This needs
// no rights and runs on any system:
//
//	h, err := states.RecordFS(nil, func(fsys *states.FS, ack func(string)) error {
//		... // write to fsys; once a write is done and synced, ack it
//	})
//	report := h.CheckFS(states.Options{}, func(fsys *states.FS, acked []string) error {
//		... // is all that was acked in fsys?
//	})
//	if err := report.Err(); err != nil {
//		t.Error(err)
//	}
//
// An FS itself usually does not satisfy the program's interface, because FS.OpenFile
// returns a *File. A method of a few lines around OpenFile does; the examples show one.
//
// Any other program, also one that is not written in Go, runs below a FUSE
// mount, on Linux:
//
//	func TestMain(m *testing.M) {
//		mount.Serve() // package crashtest/states/mount
//		os.Exit(m.Run())
//	}
//
//	h, err := states.RecordMount(states.MountOptions{}, func(dir string, ack func(string)) error { ... })
//	if errors.Is(err, crashtest.ErrUnavailable) {
//		t.Skip(err)
//	}
//	report := h.CheckDir(states.Options{}, func(dir string, acked []string) error { ... })
//
// # Crash states
//
// A history is cut before each sync, before each acknowledgement and at its end:
// a cut elsewhere leaves, with the same ledger, nothing that one of these does
// not leave too. At each cut, some operations are durable because of syncs. Each
// of the others is there, lost or torn, by the rules of the [Model]. States that
// look the same to a program are checked once.
//
// If there are more than Options.Max states, a seed draws some of them, and the
// report says so. A state that fails is reduced to the losses that it needs to
// fail, and has an ID that Options.Only takes to make just that state again.
// Options.OnSync leaves syncs out of the history: if nothing fails without a
// sync, it is superfluous or the check is too weak.
//
// # Faults
//
//	report := states.FaultsFS(nil, states.FaultOptions{}, work, check)
//
// runs the work once to count its calls, then once for each call and each of EIO, ENOSPC,
// EINTR and a short write that the call's manual page lists. The work may fail then, but
// everything that it acknowledged must be there. A failed sync may have lost its data for
// ever: FaultOptions.Crash finds a program that calls it again and believes the second
// answer. FaultOptions.Only makes one run again, by its ID.
//
// # What the models do not have
//
//   - Bugs of a file system, and its own recovery. On btrfs (Linux 6.18), for
//     example, a file that was created and synced is lost together with the file
//     that was renamed over it, if the new one was not synced and a third one
//     was. Only package power shows that.
//   - Old content of the disk in a file that has grown: there are zeros. Writes
//     are torn only at sectors of 512 bytes. Not every mixture is tried of a
//     write to more than three sectors.
//   - Times, and free space: the disk is full only where a fault says so.
//   - Below a mount: sync(2) and syncfs(2), which the kernel does not pass on to a
//     FUSE; collapsing and inserting of ranges and clones (FICLONE), which fail
//     there; extended attributes other than user.*; setuid bits; the content of
//     devices.
//   - Orders in which parallel work might have run, and did not: one run is
//     recorded. Record it several times.
package states
