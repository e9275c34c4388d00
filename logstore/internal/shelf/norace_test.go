//go:build !race

package shelf

const raceEnabled = false
