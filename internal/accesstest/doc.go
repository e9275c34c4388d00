// Package accesstest holds a matrix of what a new file may grant, for every
// function of the house that puts one in the place of an old one.
//
// The axes are owner and writer, mode, umask, access ACL, the folder's default
// ACL, extended attributes, what is to be kept, the function, and the file
// system. The kernel is the oracle: it is asked, as each of a cast of people,
// whether they may read, write or execute, before, after, and at every system
// call meanwhile, of the temporary file too. Nobody may ever do to the new file
// what the old one denied them, but with atomicfile.KeepNothing; nor what it
// denied before and after a change at any system call.
//
// It consists of tests only, for Linux and root.
package accesstest
