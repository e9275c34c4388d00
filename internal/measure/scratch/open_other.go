//go:build !unix

package scratch

const openFlags = 0
