//go:build !unix

package sys

// nonBlock is 0: this system has no FIFOs.
const nonBlock = 0
