package claims

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
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

func claimH2() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "H2", Question: "How long do the slowest synced appends take?",
		Op:  "64 bytes at the end of a file, and fsync",
		Ops: h2Appends, MaxRounds: 10,
		Variants: []lab.Variant{{
			Name: h2Append, Doc: "one write and one fsync", Promise: powerTorn, Baseline: true,
			Run: inDir(func(b *lab.B) error {
				f, err := os.OpenFile("log", os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
				if err != nil {
					return err
				}
				record := headers.Head(64)
				err = errors.Join(f.Sync(), datafile.SyncDir("."))
				b.SetBytes(int64(len(record)))
				for err == nil && b.Loop() {
					if _, err = f.Write(record); err == nil {
						err = f.Sync()
					}
				}
				return errors.Join(err, f.Close())
			}),
		}},
	}
	return Claim{
		ID: "H2",
		Source: reportH.source("2.3",
			"An append of 64 B with fsync takes 82 us (p99 137) on NVMe, 215 (486) on a SATA SSD and 8,420 (14,900) on a disk."),
		Statement:   "p99 of an append of 64 bytes and fsync",
		Claimed:     "137 us NVMe, 486 us SATA SSD, 14.9 ms disk",
		Promise:     "power, torn: each append survives a power cut once it is synced",
		Experiments: []lab.Experiment{e},
		judgeAll:    func(all []*evidence) judgement { return judgeH2(all, e.ID()) },
	}
}

// judgeH2 compares kinds of device with each other: the times belong to other machines.
func judgeH2(all []*evidence, id string) judgement {
	var text strings.Builder
	measured := map[string]run.Estimate{}
	for _, ev := range all {
		p99, why := ev.tail(id, h2Append)
		if why != "" {
			ev.miss("p99 of %s: %s", ev.place.Name, why)
			continue
		}
		kind, unknown := deviceKind(ev.place.Environment)
		if unknown != "" {
			fmt.Fprintf(&text, "%s: %s (%s). ", ev.place.Name, nanos(p99), unknown)
			continue
		}
		fmt.Fprintf(&text, "%s: %s on %s. ", ev.place.Name, nanos(p99), kind)
		if _, twice := measured[kind]; !twice {
			measured[kind] = p99
		}
	}
	var answers []answer
	var missing []string
	for i, c := range h2Claimed {
		p99, ok := measured[c.kind]
		if !ok {
			missing = append(missing, c.kind)
			continue
		}
		for _, d := range h2Claimed[i+1:] {
			if other, ok := measured[d.kind]; ok {
				ratio, claimed := quotient(other, p99), d.p99/c.p99
				fmt.Fprintf(&text, "%s takes %s of %s (claimed %.1fx). ", d.kind, factor(ratio), c.kind, claimed)
				answers = append(answers, near(ratio, claimed))
			}
		}
	}
	if len(answers) == 0 {
		return ruled(strings.TrimSpace(text.String()), CannotTest,
			"the claim compares kinds of device and needs two or more; missing: a directory on "+strings.Join(missing, ", "))
	}
	why := fmt.Sprintf("Kinds had to be as far apart as claimed, to within 25 %%. A p99 is that of a block of %d appends. A disk sd* counts as one on SATA, and as an SSD if it does not rotate.", h2Appends)
	if len(missing) > 0 {
		why += " Not here: " + strings.Join(missing, ", ") + "."
	}
	return decide(text.String(), why, "which kinds are compared", answers...)
}
