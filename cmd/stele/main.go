// Command stele measures how fast the ways of doing file I/O are on your own
// disk, and what each of them survives. It also maintains the headers of source
// trees, and inspects logs and log stores.
package main

import "github.com/stele-go/stele/cmd/stele/cli"

func main() { cli.Main() }
