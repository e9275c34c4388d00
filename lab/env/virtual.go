package env

import "strings"

// virtual names the hypervisor and the container that can be seen from inside.
func (s system) virtual(cpu cpuInfo) string {
	var parts []string
	if vm, ok := s.hypervisor(cpu); ok {
		parts = append(parts, called("virtual machine", vm))
	}
	if c, ok := s.container(); ok {
		parts = append(parts, called("container", c))
	}
	return strings.Join(parts, ", ")
}

func called(kind, name string) string {
	if name == "" {
		return kind
	}
	return kind + " (" + name + ")"
}

// hypervisor goes by the processor's flag on x86. Other processors have no such flag,
// and the firmware's name of the machine decides. On x86 the name alone would mislead:
// clouds rent out bare machines under the same names.
func (s system) hypervisor(cpu cpuInfo) (name string, found bool) {
	vendor, _ := s.read("/sys/class/dmi/id/sys_vendor")
	product, _ := s.read("/sys/class/dmi/id/product_name")
	firmware := strings.TrimSpace(strings.TrimSpace(vendor) + " " + strings.TrimSpace(product))
	if kind, err := s.read("/sys/hypervisor/type"); err == nil && kind != "" {
		return kind, true
	}
	if cpu.hypervisor {
		return firmware, true
	}
	if s.exists("/proc/device-tree/hypervisor") {
		return firmware, true
	}
	for _, word := range []string{"QEMU", "KVM", "VMware", "VirtualBox", "Virtual Machine", "Parallels", "Google Compute Engine"} {
		if strings.Contains(firmware, word) {
			return firmware, true
		}
	}
	return "", false
}

// container goes by the marks that container managers leave.
func (s system) container() (name string, found bool) {
	cgroup, _ := s.read("/proc/1/cgroup")
	for _, word := range []string{"kubepods", "docker", "libpod", "containerd", "lxc"} {
		if strings.Contains(cgroup, word) {
			return word, true
		}
	}
	switch {
	case s.exists("/.dockerenv"):
		return "docker", true
	case s.exists("/run/.containerenv"):
		return "podman", true
	}
	return "", false
}
