package iojob

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// A Key is the name of a setting in a job file and on the command line.
type Key struct {
	Name string
	Doc  string // the word in backquotes stands for the value
	Bool bool   // may be given without a value
}

// Keys returns the settings of a job, in the order of help texts.
func Keys() []Key {
	return []Key{
		{Name: "rw", Doc: "`KIND` of operations: read, write, randread, randwrite, rw or randrw with the percentage of reads, rw=70, or append, which grows a file (default randread)"},
		{Name: "block", Doc: "`SIZE` of a block, or several with their shares, 4k:70,64k:30 (default 4k)"},
		{Name: "size", Doc: "`SIZE` of the file (default 256M), at which one that grows begins anew"},
		{Name: "pattern", Doc: "`PATTERN` of offsets, in place of that of rw: seq, random, or zipf:1.1 with the exponent"},
		{Name: "depth", Doc: "`NUMBER` of requests that a thread keeps in flight (default 1)"},
		{Name: "threads", Doc: "`NUMBER` of threads, on one file (default 1)"},
		{Name: "fsync", Doc: "sync after every `N` writes of a thread; 0 is never"},
		{Name: "sync", Doc: "`HOW` writes are made durable: none, fsync, fdatasync, o_sync or o_dsync (default none, and fsync with --fsync)"},
		{Name: "direct", Doc: "go past the page cache (O_DIRECT)", Bool: true},
		{Name: "cache", Doc: "`STATE` of the file at the start of a block: warm (in the page cache) or cold (default warm)"},
		{Name: "engine", Doc: "`ENGINE`: sync, mmap, uring, or uring-poll, which polls the device (default sync, and uring for a depth above 1)"},
		{Name: "rate", Doc: "`OPS` a second that arrive whether or not those before have ended (open model), all threads together; latencies count from the intended start; 0 is as fast as can be"},
		{Name: "arrivals", Doc: "`LAW` of the gaps between arrivals with a rate: poisson or fixed (default poisson)"},
	}
}

// Set sets a setting from text. The error names the key.
func (j *Job) Set(key, value string) (err error) {
	switch key {
	case "rw":
		return j.setKind(value)
	case "block":
		return j.setBlocks(value)
	case "pattern":
		return j.setPattern(value)
	case "size":
		if j.Size, err = units.Parse(value); err != nil {
			return setting.Wrong(key, value, "a size such as 4096, 512M or 2GiB")
		}
	case "depth":
		j.Depth, err = whole(key, value, 1, maxDepth)
	case "threads":
		j.Threads, err = whole(key, value, 1, maxThreads)
	case "fsync":
		j.Fsync, err = whole(key, value, 0, 1<<30)
	case "sync":
		j.Sync, err = one(key, value, syncNone, syncFile, syncData, syncOpen, syncOpData)
	case "direct":
		if j.Direct, err = strconv.ParseBool(value); err != nil {
			return setting.Wrong(key, value, "true or false")
		}
	case "cache":
		j.Cache, err = one(key, value, datafile.Warm, datafile.Cold)
	case "engine":
		j.Engine, err = one(key, value, engineSync, engineMap, engineRing, enginePoll)
	case "rate":
		if j.Rate, err = strconv.ParseFloat(value, 64); err != nil || !(j.Rate >= 0 && j.Rate <= 1e9) {
			return setting.Wrong(key, value, "operations a second from 0 (as fast as can be) to 1e9")
		}
	case "arrivals":
		j.Arrivals, err = one(key, value, poissonLaw, fixedLaw)
	default:
		if ours := fioNames[key]; ours != "" {
			return setting.Wrong(key, value, "%s in place of fio's %s", ours, key)
		}
		return setting.Wrong("setting of a job", key, "%s", strings.Join(names(), ", "))
	}
	return err
}

// fioNames are fio's names of settings that have another name here.
var fioNames = map[string]string{
	"bs": "block", "blocksize": "block", "filesize": "size", "readwrite": "rw", "rwmixread": "rw=70 or randrw=70", "iodepth": "depth",
	"numjobs": "threads", "ioengine": "engine", "random_distribution": "pattern", "rate_iops": "rate", "filename": "--file beside the jobs",
	"runtime": "--time beside the jobs",
}

// FioNames returns fio's names of settings that Set refuses with the name to use, in order.
func FioNames() []string { return slices.Sorted(maps.Keys(fioNames)) }

func names() (all []string) {
	for _, k := range Keys() {
		all = append(all, k.Name)
	}
	return all
}

func whole(key, value string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < lo || n > hi {
		return 0, setting.Wrong(key, value, "a whole number from %d to %d", lo, hi)
	}
	return n, nil
}

func one(key, value string, allowed ...string) (string, error) {
	for _, a := range allowed {
		if value == a {
			return value, nil
		}
	}
	last := len(allowed) - 1
	return "", setting.Wrong(key, value, "%s or %s", strings.Join(allowed[:last], ", "), allowed[last])
}

func (j *Job) setKind(value string) error {
	if value == "append" {
		j.Reads, j.Grow = 0, true
		if !j.patterned {
			j.Pattern = patternSeq
		}
		return nil
	}
	kind, percent, mixed := strings.Cut(value, "=")
	random := strings.HasPrefix(kind, "rand")
	reads := map[string]int{"read": 100, "write": 0, "rw": 50}
	share, known := reads[strings.TrimPrefix(kind, "rand")]
	if mixed && strings.HasSuffix(kind, "rw") {
		n, err := strconv.Atoi(percent)
		known, share = known && err == nil && n >= 0 && n <= 100, n
	} else if mixed {
		known = false
	}
	if !known {
		return setting.Wrong("rw", value, "read, write, randread, randwrite, rw or randrw with the percentage of reads, rw=70, or append")
	}
	j.Grow = false
	if j.Reads = share; j.patterned {
		return nil
	}
	j.Pattern = patternSeq
	if random {
		j.Pattern = patternRand
	}
	return nil
}

func (j *Job) setBlocks(value string) error {
	var blocks []Block
	for part := range strings.SplitSeq(value, ",") {
		size, share, shared := strings.Cut(part, ":")
		n, err := units.Parse(size)
		weight := int64(1)
		if err == nil && shared {
			weight, err = strconv.ParseInt(share, 10, 32)
		}
		if err != nil || n > maxBlock || weight < 1 {
			return setting.Wrong("block", value, "a size up to %s such as 4k, or several with their shares, 4k:70,64k:30", units.Size(maxBlock))
		}
		blocks = append(blocks, Block{int(n), weight})
	}
	j.Blocks = blocks
	return nil
}

func (j *Job) setPattern(value string) error {
	name, text, given := strings.Cut(value, ":")
	theta := 0.0
	if name == patternZipf && given {
		var err error
		if theta, err = strconv.ParseFloat(text, 64); err != nil {
			theta = 0
		}
	}
	switch {
	case (name == patternSeq || name == patternRand) && !given:
	case name == patternZipf && theta > 0 && theta != 1 && theta <= 10:
	default:
		return setting.Wrong("pattern", value, "seq, random, or zipf:S with an exponent S from above 0 to 10, but not 1")
	}
	j.Pattern, j.Theta, j.patterned = name, theta, true
	return nil
}

// ParseFile reads jobs from a file. Each section is a job, in lines of KEY = VALUE:
//
//	# a comment
//	[global]            settings of the jobs below
//	size = 1G
//	direct              the same as direct = true
//
//	[shallow]
//	depth = 1
//
//	[deep]
//	depth = 32
//
// base has the settings that the file does not give. An error names the line.
func ParseFile(r io.Reader, name string, base Job) ([]Job, error) {
	var jobs []Job
	current := &base
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if section, ok := strings.CutPrefix(line, "["); ok {
			section, ok = strings.CutSuffix(section, "]")
			if section = strings.TrimSpace(section); !ok || section == "" {
				return nil, fmt.Errorf("%s:%d: %q; want [NAME]", name, n, line)
			}
			if section == "global" {
				if current != &base {
					return nil, fmt.Errorf("%s:%d: [global] after a job; want it first", name, n)
				}
				continue
			}
			j := base
			j.Name = section
			jobs = append(jobs, j)
			current = &jobs[len(jobs)-1]
			continue
		}
		if err := current.setLine(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: no job; want one or more sections [NAME] with lines of KEY = VALUE", name)
	}
	return jobs, nil
}

func (j *Job) setLine(line string) error {
	key, value, given := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !given {
		for _, k := range Keys() {
			if k.Name == key && k.Bool {
				return j.Set(key, "true")
			}
		}
		return fmt.Errorf("%q; want KEY = VALUE", line)
	}
	return j.Set(key, value)
}
