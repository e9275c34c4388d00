//go:build !race

package segment2

const raceEnabled = false
