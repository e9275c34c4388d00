//go:build race

package segment

// raceEnabled: pools drop items now and then, and everything is slow.
const raceEnabled = true
