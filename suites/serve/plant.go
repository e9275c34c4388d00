package serve

import (
	"fmt"
	"strconv"

	"github.com/stele-go/stele/suites/logs"
)

// Each of rareOf rare words is in rareEach lines.
const (
	rareOf   = 20
	rareEach = 20
)

func rareWord(i int) string { return fmt.Sprintf("zq%xrare", 0xa11ce+i*7919) }

// rareWords returns where the rare words are among so many lines, by number of the line.
func rareWords(lines int64) map[int64]string {
	plan := map[int64]string{}
	for i := range int64(rareOf * rareEach) {
		plan[(i*lines/(rareOf*rareEach)+i*31)%lines] = rareWord(int(i % rareOf))
	}
	return plan
}

// Planted returns lines of next in which the words of a plan are: by number of the line,
// counted from 0.
func Planted(next Next, plan map[int64]string) Next {
	var n int64
	var line []byte
	return func(l *logs.Line) {
		next(l)
		if word, ok := plan[n]; ok {
			line = append(append(append(line[:0], l.Line...), ' '), word...)
			l.Line = line
		}
		n++
	}
}

// over is the range of an instant query at lastMoment that holds all lines.
const over = "[37h]"

// linesStart is when the first line is written, in ns: see package logs.
const linesStart = 1_767_600_000_000_000_000

// lastMoment is behind all lines, in ns.
const lastMoment = linesStart + 36*3600e9

var (
	// times are the bounds of all lines, as parameters of a query.
	times = []string{"start", strconv.FormatInt(linesStart-1e9, 10), "end", strconv.FormatInt(lastMoment, 10)}
	// at is the moment of an instant query.
	at = []string{"time", strconv.FormatInt(lastMoment, 10)}
)
