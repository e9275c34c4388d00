// Package belowroot lets the command stele pass file names to package header as its
// user wrote them, so that errors show them so, while the files are opened below
// a root. It is a package of its own because the command is in another module, and
// header's Options have no exported field for it.
package belowroot

// Set makes the functions that use to, a *header.Options with a Root, open the file
// path(name) below Root for a file called name. Several goroutines may call path at
// once. Package header sets Set.
var Set func(to any, path func(name string) string)
