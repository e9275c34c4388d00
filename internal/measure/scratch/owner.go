package scratch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

const ownerSchema = "stele.place/1"

// An owner is the content of an owner file: the process that made the directory.
type owner struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // "directory" or the file system of an image
	Locked bool   `json:"locked"`
	Host   string `json:"host"`
	process
}

// A process is identified by its number, its start time, the boot and the PID
// namespace. A field is empty where the system does not report it.
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
	if start, err := sys.StartOf(p.PID); err == nil {
		p.Start = strconv.FormatUint(start, 10)
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	p.Boot = strings.TrimSpace(string(boot))
	p.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	return p
}

// writeOwner writes the owner durably, so that Sweep still knows the directory's
// maker after a power cut.
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

// maxOwner bounds the read: another program may have put a file there.
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

// exited reports whether the owner is known to have exited, given that its lock,
// if it had one, is free. If not, why is the reason.
//
// A free lock alone is not enough: some network file systems do not show the
// locks of other machines.
func (o owner) exited(me owner) (gone bool, why string) {
	if o.Host != me.Host {
		return false, fmt.Sprintf("made on another machine, %s", o.Host)
	}
	if o.Boot != "" && o.Boot == me.Boot && o.Namespace != "" && o.Namespace == me.Namespace && o.Start != "" {
		start, err := sys.StartOf(o.PID)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return true, ""
		case err != nil:
			return false, err.Error()
		case strconv.FormatUint(start, 10) == o.Start:
			return false, fmt.Sprintf("process %d lives, though it holds no lock", o.PID)
		}
		return true, "" // the number was given to another process
	}
	if o.Locked {
		return true, ""
	}
	return false, fmt.Sprintf("cannot tell whether process %d lives: there are no file locks", o.PID)
}
