//go:build !race

package fileio_test

const raceEnabled = false
