// Package cmdjob measures commands of a shell, or programs: how long a run takes, which
// system calls it makes, and whether its writes survive a crash.
//
// Each run has a fresh directory. What a command promises is derived from the system
// calls of one run of it (Try), and marked as derived: a command that synced every file
// after its last write is taken to promise durability.Power, another one that writes
// durability.Kill. Whether the syncs are the right ones for the job is not checked.
package cmdjob
