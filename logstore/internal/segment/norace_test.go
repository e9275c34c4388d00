//go:build !race

package segment

import ()

const raceEnabled = false
