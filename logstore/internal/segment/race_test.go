//go:build race

package segment

// raceEnabled: pools drop what they are given now and then, and all is slow.
const raceEnabled = true
