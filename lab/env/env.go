// Package env tells what a measurement stands on: the machine, the system,
// and the file system and device under a folder.
package env

// An Environment is the fingerprint of a machine and of one folder on it.
// A field that could not be found out is empty or 0, and Unknown says why.
type Environment struct {
	// The machine.
	Hostname  string  `json:"hostname"`
	OS        string  `json:"os"`     // "linux"
	Arch      string  `json:"arch"`   // "amd64"
	Kernel    string  `json:"kernel"` // release
	CPU       string  `json:"cpu"`    // model
	CPUs      int     `json:"cpus"`   // online
	Memory    int64   `json:"memory_bytes"`
	Governor  string  `json:"governor"`  // CPU frequency governor
	Throttled int64   `json:"throttled"` // thermal throttle events since boot, all cores
	Virtual   string  `json:"virtual"`   // hypervisor or container; empty on bare metal
	Load      float64 `json:"load1"`     // load average of the last minute
	// The Go side.
	Go         string            `json:"go"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	GoSettings map[string]string `json:"go_settings,omitempty"` // GOGC, GOMEMLIMIT, GODEBUG where set
	// The folder.
	Dir        string `json:"dir"`
	FS         string `json:"fs"`            // "ext4"
	Mount      string `json:"mount"`         // mount point
	Options    string `json:"mount_options"` // of mount and super block
	Journal    string `json:"journal"`       // "ordered", "none", "n/a" with a reason in Unknown
	FreeBytes  int64  `json:"free_bytes"`
	TotalBytes int64  `json:"total_bytes"`
	// The device under it.
	Device     string `json:"device"`      // "/dev/nvme0n1p2"
	DeviceID   string `json:"device_id"`   // "259:2"; empty where there is none
	Model      string `json:"model"`       // of the disk
	Rotational string `json:"rotational"`  // "yes", "no" or ""
	Scheduler  string `json:"scheduler"`   // I/O scheduler
	WriteCache string `json:"write_cache"` // "write back" or "write through"
	Backing    string `json:"backing"`     // the file under a loop device
	// Unknown says, by JSON name, why a field could not be found out.
	Unknown map[string]string `json:"unknown,omitempty"`
	// Warnings name what makes a measurement here doubtful.
	Warnings []Warning `json:"warnings,omitempty"`
}

// A Warning is one thing that makes figures from here doubtful.
type Warning struct {
	Code string `json:"code"` // "no-journal", "tmpfs", "busy", "throttled", "governor", "overlay", "low-space", …
	Text string `json:"text"` // what, why it matters and what to do
}
