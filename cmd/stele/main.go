// Command stele measures how fast the ways of doing file I/O are on your own
// disk, and what each of them survives. It serves and queries log stores, inspects
// and repairs them, and maintains the headers of source trees.
package main

import "github.com/stele-go/stele/cmd/stele/cli"

func main() { cli.Main() }
