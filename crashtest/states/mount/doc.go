// Package mount serves the FUSE mounts of states.RecordMount and
// states.FaultsMount. It is a package of its own so that a program that records
// in memory only does not link FUSE.
//
//	func TestMain(m *testing.M) {
//		mount.Serve()
//		os.Exit(m.Run())
//	}
package mount
