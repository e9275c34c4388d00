//go:build race

package segment

import ()

// raceEnabled: pools drop items now and then, and everything is slow.
const raceEnabled = true
