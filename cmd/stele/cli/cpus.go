package cli

import "github.com/stele-go/stele/lab"

// A cpuFlag is the value of --cpus.
type cpuFlag []int

func (c *cpuFlag) Set(list string) (err error) {
	*c, err = lab.ParseCPUs(list)
	return err
}

func (c *cpuFlag) String() string { return "" }
func (c *cpuFlag) Type() string   { return "cpus" }
