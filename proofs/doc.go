// Package proofs is the map of the proofs of every promise that Stele makes
// about crashes. A folder has the proofs of one package, with their mutants: the
// same code with one sync removed, which the proof must catch, or it proves
// nothing.
//
// The commands run in the root of the repository, as root, and skip with the
// reason where a file system or /dev/fuse is missing. All packages but
// access take -cuts (power cuts for each file system and workload) and -seed, and with
// STELE_LONG=1 try everything that they otherwise sample.
//
//	promise                                    proof
//
//	mkdir, level Power: a directory that was   go test ./proofs/mkdir
//	acknowledged is there, with its parents    mutants: level Kill, every sync
//	                                           removed, replaced by
//	                                           sync_file_range, each one by one
//
//	newfile, level Power: a file is there,     go test ./proofs/newfile
//	a published one with all its content       mutants: level Kill, syncs of file
//	                                           and folder, O_DIRECT unflushed
//
//	atomicfile: the old content or the new,    go test ./proofs/atomicfile
//	whole, with mode and attributes; after     mutants: level Kill, syncs of
//	Power the new; on every layout of ext4     content and folder, each one by
//	and XFS that SyncAuto relies on            one, late chmod, unflushed rename
//
//	header: after Recover old or new, whole;   go test ./proofs/header
//	a cut during Recover too; groups of files  mutants: syncs and intents of
//	                                           every strategy, a bare shift
//
//	fileio: bytes below Writer.Durable are     go test ./proofs/fileio
//	there, by every mechanism and policy       mutants: sync_file_range, no sync
//
//	wal: acknowledged records are there,       go test ./proofs/wal
//	whole and in order, nothing made up; a     power cuts, kill -9, every crash
//	failed call loses none of them             state, every fault; mutants: each
//	                                           kind of sync
//
//	logstore: acknowledged batches are there   go test ./proofs/logstore
//	once, others all or nothing                as for wal
//
//	what each way to sync makes durable;       go test ./proofs/filesystem
//	the crash models hold what ext4 and XFS    mutants: writes without a sync
//	do; what kill and shutdown do not see
//
//	access: files that replace others grant    go test ./proofs/access
//	nobody more than these did
//
//	the zero value of every type returns an    go test ./proofs
//	error, and does not panic
//
// [github.com/stele-go/stele/crashtest] is the kit that they use.
package proofs
