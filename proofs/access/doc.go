// Package access tests which permissions a new file grants, in a matrix over
// every function of Stele that replaces a file.
//
// The axes are owner and writer, mode, umask, access ACL, the directory's default
// ACL, extended attributes, atomicfile.Keep, the function, and the file system.
// The kernel is the oracle: for each of a cast of users the test asks whether
// that user may read, write or execute the file, before the call, after it, and
// at every system call of it, for the temporary file too. Except with
// atomicfile.KeepNothing, no user may ever do to the new file anything that the
// old one denied, nor anything that it denied both before and after a change
// made between any two system calls.
//
// The package holds tests only. They need Linux and root.
package access
