package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/run"
)

// ParseCPUs parses a list of processors as taskset(1) takes it: "0,2-3". Each is
// returned once, in ascending order.
func ParseCPUs(list string) ([]int, error) {
	const most = 1 << 13 // processors that Linux can be built for
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := strconv.Atoi(from)
		hi := lo
		if ranged && err == nil {
			hi, err = strconv.Atoi(to)
		}
		if err != nil || lo < 0 || hi < lo || hi >= most {
			return nil, setting.Wrong("lab: list of CPUs", list, "numbers and ranges such as 0,2-3")
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// cpuList writes processors, in ascending order, as ParseCPUs takes them.
func cpuList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// siblings returns the processors of the list that share a core with one before them,
// each with that one, from the directory of /sys/devices/system/cpu. It is empty where
// the kernel does not tell.
func siblings(cpus []int, sys string) (shared [][2]int) {
	for i, cpu := range cpus {
		text, err := os.ReadFile(fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", sys, cpu))
		if err != nil {
			continue
		}
		of, err := ParseCPUs(strings.TrimSpace(string(text)))
		if err != nil {
			continue
		}
		for _, before := range cpus[:i] {
			if slices.Contains(of, before) {
				shared = append(shared, [2]int{before, cpu})
				break
			}
		}
	}
	return shared
}

// notePinned notes the processors of Options.CPUs in the environment of each place, for
// they decide what a figure means.
func (r *runner) notePinned(shared [][2]int) {
	if len(r.o.CPUs) == 0 {
		return
	}
	for i := range r.run.Places {
		e := &r.run.Places[i].Environment
		e.Pinned = cpuList(r.o.CPUs)
		if e.GoSettings["GOMAXPROCS"] == "" {
			e.GOMAXPROCS = min(e.GOMAXPROCS, len(r.o.CPUs))
		}
		few := slices.ContainsFunc(e.Warnings, func(w run.Warning) bool { return w.Code == run.WarnFewCPUs })
		if e.GOMAXPROCS == 1 && !few {
			e.Warnings = append(e.Warnings, run.Warning{Code: run.WarnFewCPUs})
		}
		if len(shared) > 0 {
			pairs := make([]string, len(shared))
			for k, s := range shared {
				pairs[k] = fmt.Sprintf("%d and %d", s[0], s[1])
			}
			e.Warnings = append(e.Warnings, run.Warning{Code: run.WarnSiblings, Text: strings.Join(pairs, ", ")})
		}
	}
}

// checkCPUs returns an error for options that ask for processors the blocks cannot
// have.
func checkCPUs(o Options) error {
	if len(o.CPUs) > 0 && o.InProcess {
		return errors.New("lab: Options.CPUs: want blocks in processes of their own, not InProcess")
	}
	return CheckCPUs(o.CPUs)
}

// CheckCPUs returns an error if Measure would refuse cpus as Options.CPUs: they are not
// in ascending order, or the kernel does not let this process run on one of them. nil,
// which stands for all, is no error.
func CheckCPUs(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	for i, cpu := range cpus {
		if cpu < 0 || i > 0 && cpu <= cpus[i-1] {
			return setting.Wrong("lab: Options.CPUs", setting.Text(fmt.Sprint(cpus)), "numbers of processors from 0, in ascending order")
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unpin, err := pin(cpus)
	if err != nil {
		return err
	}
	unpin()
	return nil
}
