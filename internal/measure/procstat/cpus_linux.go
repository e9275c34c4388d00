package procstat

import (
	"bufio"
	"errors"
	"os"
	"strings"
)

// AllowedCPUs returns the processors that the main thread of this process may run on,
// as a list: "0,2-3".
func AllowedCPUs() (string, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if list, ok := strings.CutPrefix(lines.Text(), "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list), nil
		}
	}
	return "", errors.New("/proc/self/status has no Cpus_allowed_list")
}
