//go:build !unix

package place

const openFlags = 0
