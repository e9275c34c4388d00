// Package belowroot lets the command stele name files to package header as its
// user does, in errors too, while they are looked for below a root only.
package belowroot

// Set has to, a *header.Options with a Root, take names as they are, for messages,
// and look for each at path(name) below Root. path is called by several
// goroutines. Package header sets Set.
var Set func(to any, path func(name string) string)
