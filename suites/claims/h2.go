package claims

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
)

const h2Append = "append + fsync"

// h2Appends is how many appends a block does: enough for a p99 of its own, few enough for
// a spinning disk.
const h2Appends = 500

// The kinds of device in H2.
const (
	kindNVMe = "NVMe"
	kindSATA = "SATA SSD"
	kindDisk = "disk"
)

// h2Claimed has the claimed p99 of each kind.
var h2Claimed = []struct {
	kind string
	p99  float64 // nanoseconds
}{{kindNVMe, 137e3}, {kindSATA, 486e3}, {kindDisk, 14.9e6}}

// deviceKind returns the kind of device a directory is on, or why it is unknown. A virtual
// disk cannot be trusted: it reports what the hypervisor was configured to say.
func deviceKind(e run.Environment) (kind, why string) {
	name := strings.TrimPrefix(e.Device, "/dev/")
	switch {
	case name == "":
		return "", "it has no device"
	case e.Backing != "":
		return "", fmt.Sprintf("%s is a file on %s", name, e.BackingFS)
	case len(e.Members) > 0:
		return "", fmt.Sprintf("%s is made of %s", name, strings.Join(e.Members, ", "))
	case e.Virtual != "" && !strings.HasPrefix(e.Virtual, "container"):
		machine, _, _ := strings.Cut(e.Virtual, ", container")
		return "", fmt.Sprintf("%s is a disk of a %s, which hides the device below", name, machine)
	case strings.HasPrefix(name, "nvme"):
		return kindNVMe, ""
	case strings.HasPrefix(name, "sd") && e.Rotational == "no":
		return kindSATA, ""
	case strings.HasPrefix(name, "sd") && e.Rotational == "yes":
		return kindDisk, ""
	}
	return "", fmt.Sprintf("the kind of %s is unknown", name)
}

// h2Ahead is the way with a file written ahead, which is shown.
const h2Ahead = "written ahead, fdatasync"

// h2AheadBytes has room for the appends of a block.
const h2AheadBytes = 1 << 20

// h2Variant appends to a file that grows, or goes over one that was written ahead.
func h2Variant(name, doc string, ahead bool, sync func(*os.File) error) lab.Variant {
	return lab.Variant{Name: name, Doc: doc, Promise: powerTorn, Run: inDir(func(b *lab.B) error {
		f, err := openLog("log")
		if err != nil {
			return err
		}
		if ahead {
			_, err = f.WriteAt(make([]byte, h2AheadBytes), 0)
			err = errors.Join(err, f.Sync())
		}
		record := headers.Head(64)
		b.SetBytes(int64(len(record)))
		for err == nil && b.Loop() {
			off := b.I() * int64(len(record))
			if ahead {
				off %= h2AheadBytes
			}
			if _, err = f.WriteAt(record, off); err == nil {
				err = sync(f)
			}
		}
		return errors.Join(err, f.Close())
	})}
}

func claimH2() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "H2", Question: "How long do the slowest synced appends take?",
		Op:  "64 bytes at the end of a file, and a sync",
		Ops: h2Appends, MaxRounds: 10,
		Variants: firstIsBaseline(
			h2Variant(h2Append, "the file grows: one write and one fsync", false, (*os.File).Sync),
			h2Variant(h2Ahead, "the file has its blocks before: one write and one fdatasync", true, fileop.Fdatasync)),
	}
	return Claim{
		ID: "H2",
		Source: reportH.source("2.3",
			"An append of 64 B with fsync takes 82 us (p99 137) on NVMe, 215 (486) on a SATA SSD and 8,420 (14,900) on a disk."),
		Statement:   "p99 of an append of 64 bytes and fsync, the file growing",
		Claimed:     "137 us NVMe, 486 us SATA SSD, 14.9 ms disk of 7,200 rpm",
		Promise:     "power, torn: each append survives a power cut once it is synced",
		Experiments: []lab.Experiment{e},
		judgeAll:    func(all []*evidence) judgement { return judgeH2(all, e.ID()) },
	}
}

// judgeH2 compares kinds of device with each other: the times belong to other machines. The
// report's figures are those of a database's writes, with the database in them.
func judgeH2(all []*evidence, id string) judgement {
	var parts []part
	measured, few, unknown := map[string]run.Estimate{}, map[string]string{}, ""
	for _, ev := range all {
		name := ev.place.Name
		if lack := onDisk(ev.place.Environment); lack != "" {
			unknown += fmt.Sprintf("; %s needs %s", name, lack)
			continue
		}
		p99, why := ev.tail(id, h2Append)
		kind, hidden := deviceKind(ev.place.Environment)
		if hidden != "" {
			unknown += fmt.Sprintf("; %s: %s", name, hidden)
			kind = "a device of unknown kind"
		} else if _, twice := measured[kind]; !twice {
			measured[kind], few[kind] = p99, ev.fewLatencies(id, h2Append)
		}
		if why != "" {
			if ev.fewLatencies(id, h2Append) == "" {
				ev.miss("p99 of %s: %s", name, why)
			}
			continue
		}
		parts = append(parts, figureOf("p99 in "+name+", on "+kind, lasting(p99)).
			note(fmt.Sprintf("%.1f times the mean (claimed 1.7 to 2.3)", p99.Median/ev.time(id, h2Append).Median)))
		if ahead, why := ev.tail(id, h2Ahead); why == "" {
			parts = append(parts, figureOf("p99 in "+name+" written ahead, fdatasync", lasting(ahead)))
		}
	}
	nvme := h2Claimed[0]
	for _, c := range h2Claimed[1:] {
		what := "p99, " + c.kind + " against NVMe"
		of, slow := measured[c.kind]
		base, fast := measured[nvme.kind]
		if !slow || !fast {
			parts = append(parts, lacking(what, "a directory on NVMe and one on a "+c.kind+unknown))
			continue
		}
		parts = append(parts, claimed(what, quotient(of, base), c.p99/nvme.p99).undecided(cmp.Or(few[c.kind], few[nvme.kind])))
	}
	return ruling(fmt.Sprintf("A p99 is that of the appends of all blocks together, %d each. The report measured a database's synced writes, and the database is in its figures. A disk sd* counts as one on SATA, and as an SSD if it does not rotate.", h2Appends), parts...)
}
