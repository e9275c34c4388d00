package cli

import "github.com/stele-go/stele/cmd/stele/internal/logtime"

// A lineClock tells the time of each line: the one that it names, else that of the line
// before, else that of its reading.
type lineClock struct {
	parser *logtime.Parser
	read   int64 // when the lines were read
	last   int64 // of the line before; 0 if it has none
}

func (c *lineClock) of(line []byte) int64 {
	if c.parser == nil {
		return c.read
	}
	if ns, ok := c.parser.Find(line); ok {
		c.last = ns
		return ns
	}
	if c.last != 0 {
		return c.last
	}
	return c.read
}
