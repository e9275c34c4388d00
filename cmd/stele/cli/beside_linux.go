package cli

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
)

// signPrefix begins the name of a sign in the abstract namespace of unix(7). Such a
// name is no file, vanishes with its process, and is listed in /proc/net/unix for all
// users of the network namespace.
const signPrefix = "@stele.measures/"

// A sign is a name that other processes see as long as it hangs out.
type sign struct {
	name string
	l    net.Listener // nil where no name could be bound
}

// hangOut shows that this process measures. Where that fails it is not seen.
func hangOut() sign {
	// Processes of several PID namespaces may have one number.
	s := sign{name: fmt.Sprintf("%s%d-%08x", signPrefix, os.Getpid(), rand.Uint32())}
	s.l, _ = net.Listen("unix", s.name)
	return s
}

func (s sign) close() {
	if s.l != nil {
		s.l.Close()
	}
}

// others returns the names of the other signs.
func (s sign) others() []string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	var names []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if name := fields[len(fields)-1]; strings.HasPrefix(name, signPrefix) && name != s.name {
			names = append(names, name)
		}
	}
	return names
}

// pidOf returns the process ID in the name of a sign.
func pidOf(name string) string {
	pid, _, _ := strings.Cut(strings.TrimPrefix(name, signPrefix), "-")
	return pid
}
