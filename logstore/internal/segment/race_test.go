//go:build race

package segment

// raceEnabled: pools drop what they are given now and then.
const raceEnabled = true
