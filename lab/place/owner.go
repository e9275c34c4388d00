package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const ownerSchema = "stele.place/1"

// An owner is the content of an owner file: the process that made a place.
type owner struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // "directory" or the file system of an image
	Locked bool   `json:"locked"`
	Host   string `json:"host"`
	process
}

// A process is told from every other one by its number, the time it started
// at, the boot, and the PID namespace that the number is of. A field is
// empty where the system does not tell it.
type process struct {
	PID       int    `json:"pid"`
	Start     string `json:"start"`         // clock ticks since boot
	Boot      string `json:"boot"`          // id of the boot
	Namespace string `json:"pid_namespace"` // as of /proc/PID/ns/pid
}

func newOwner(kind string, locked bool) owner {
	host, _ := os.Hostname()
	return owner{Schema: ownerSchema, Kind: kind, Locked: locked, Host: host, process: thisProcess()}
}

func thisProcess() process {
	p := process{PID: os.Getpid()}
	p.Start, _ = startOf(p.PID)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	p.Boot = strings.TrimSpace(string(boot))
	p.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	return p
}

// writeOwner makes the owner durable, so that after a power cut Sweep still
// knows whose the folder was.
func writeOwner(f *os.File, o owner) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(append(data, '\n'), 0); err != nil {
		return err
	}
	return f.Sync()
}

var errNoOwner = errors.New("the owner file is empty")

// maxOwner bounds what is read of a file that somebody else may have put there.
const maxOwner = 4096

func readOwner(r io.Reader) (owner, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxOwner+1))
	if err != nil {
		return owner{}, err
	}
	if len(data) == 0 {
		return owner{}, errNoOwner
	}
	var o owner
	if len(data) > maxOwner || json.Unmarshal(data, &o) != nil || o.Schema != ownerSchema || o.PID <= 0 || o.Kind == "" {
		return owner{}, fmt.Errorf("the owner file is not of the form %s", ownerSchema)
	}
	return o, nil
}

// left reports whether the owner is known to be gone, given that its lock,
// if it had one, is free. Where that is not known, why says why.
//
// A free lock alone is not enough: over some network file systems the locks
// of other machines do not show.
func (o owner) left(me owner) (gone bool, why string) {
	if o.Host != me.Host {
		return false, fmt.Sprintf("made on another machine, %s", o.Host)
	}
	if o.Boot != "" && o.Boot == me.Boot && o.Namespace != "" && o.Namespace == me.Namespace && o.Start != "" {
		start, err := startOf(o.PID)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return true, ""
		case err != nil:
			return false, err.Error()
		case start == o.Start:
			return false, fmt.Sprintf("process %d lives, though it holds no lock", o.PID)
		}
		return true, "" // the number was given to another process
	}
	if o.Locked {
		return true, ""
	}
	return false, fmt.Sprintf("cannot tell whether process %d lives: there are no file locks", o.PID)
}

// startOf returns when a process started, in clock ticks since boot.
func startOf(pid int) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// The process may also end between open and read: ESRCH.
		if errors.Is(err, syscall.ESRCH) {
			err = os.ErrNotExist
		}
		return "", err
	}
	return parseStart(string(data))
}

// parseStart reads field 22 of /proc/PID/stat. Field 2, the program's name in
// parentheses, may itself hold spaces and parentheses.
func parseStart(stat string) (string, error) {
	_, rest, ok := cutLast(stat, ")")
	fields := strings.Fields(rest)
	const start = 22 - 3 // fields counts from field 3 on
	if !ok || len(fields) <= start {
		return "", fmt.Errorf("cannot read /proc/PID/stat: %q", stat)
	}
	return fields[start], nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
