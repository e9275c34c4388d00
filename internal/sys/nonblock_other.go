//go:build !unix

package sys

// nonBlock: there are no FIFOs here.
const nonBlock = 0
