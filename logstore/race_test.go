//go:build race

package logstore

// raceEnabled: pools drop items now and then, and everything is slow.
const raceEnabled = true
