// Command stele-peers measures the peers beside Stele, with the flags of "stele bench".
// "stele report" turns its JSON into the rest.
package main

import (
	"github.com/stele-go/stele/cmd/stele/cli"
	"github.com/stele-go/stele/peers"
)

const usage = `Usage: stele-peers [SUITE ...] [flags]

Measures other libraries and stores beside Stele, in the experiments that have
one. The flags, outputs and exit codes are those of 'stele bench'. All experiments
take hours: choose with SUITE and --filter.

Examples:
  stele-peers --list
  stele-peers mkdir --filter 'fresh-7|batch-source' --dir /data --json peers.json
  sudo stele-peers --mix-levels --filter 'beside-renameio/size=4096' --fs ext4
`

func bench() cli.Bench {
	return cli.Bench{Name: "stele-peers", Help: usage, Suites: peers.Suites}
}

func main() { bench().Main() }
