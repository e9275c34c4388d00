package sys

// Opened is how a file was opened.
type Opened struct {
	Read, Write bool
	Append      bool // O_APPEND: writes at an offset go to the end too
	Durable     bool // O_DSYNC or O_SYNC
}
