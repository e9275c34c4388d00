// Package fileio reads and writes files by the way that suits them.
package fileio
