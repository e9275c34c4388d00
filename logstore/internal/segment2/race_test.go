//go:build race

package segment2

// raceEnabled: everything is slow, and what no goroutine shares is sampled.
const raceEnabled = true
