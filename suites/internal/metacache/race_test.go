//go:build race

package metacache

const raceEnabled = true
