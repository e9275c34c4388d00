package claims

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab"
)

const (
	variantCreate = "create + close"
	variantOpen   = "open + close"
)

// emptyFiles opens and closes a file for each operation. before: it creates them all first.
func emptyFiles(b *lab.B, flags int, before bool) error {
	names := allPaths(b.N, func(i int) string { return "f" + strconv.Itoa(i) })
	for i := 0; before && i < len(names); i++ {
		if err := touch(names[i], os.O_CREATE|os.O_EXCL|os.O_WRONLY); err != nil {
			return err
		}
	}
	for b.Loop() {
		if err := touch(names[b.I()], flags); err != nil {
			return err
		}
	}
	return nil
}

func claimD3() Claim {
	e := lab.Experiment{
		Suite: "claims", Name: "D3", Question: "What does allocating the inode of an empty file cost?",
		Op: "one empty file in a directory of 100,000", Ops: publishedOps, Env: asPublished(),
		Variants: []lab.Variant{
			{
				Name: variantOpen, Doc: "the same calls on files that exist: all but the allocation",
				Promise: kill, Baseline: true,
				Run: inDir(func(b *lab.B) error { return emptyFiles(b, os.O_WRONLY, true) }),
			},
			{
				Name: variantCreate, Doc: "os.OpenFile with O_CREATE and O_EXCL, and Close", Promise: kill,
				Run: inDir(func(b *lab.B) error {
					return emptyFiles(b, os.O_CREATE|os.O_EXCL|os.O_WRONLY, false)
				}),
			},
		},
	}
	return Claim{
		ID: "D3",
		Source: reportD.source("2.3, Inode allocation",
			"Allocating an inode takes 8.2 us on ext4 and 5.6 us on XFS, over 100,000 empty files."),
		Statement:   "100,000 empty files: time of inode allocation, ext4 and XFS",
		Claimed:     "8.2 and 5.6 us a file",
		Promise:     killText,
		Experiments: []lab.Experiment{e},
		Needs:       onExt4OrXFS,
		judgeAll:    func(all []*evidence) judgement { return judgeD3(all, e.ID()) },
	}
}

// judgeD3 compares the ratio of the two file systems: the times belong to another machine.
func judgeD3(all []*evidence, id string) judgement {
	const claimed = 8.2 / 5.6
	var m strings.Builder
	for _, ev := range all {
		if onExt4OrXFS(ev.place.Environment) != "" {
			continue
		}
		created, opened := ev.time(id, variantCreate), ev.time(id, variantOpen)
		fmt.Fprintf(&m, "%s: %s to create, %.1f us more than to open. ", ev.place.Environment.FS,
			nanos(created), (created.Median-opened.Median)/1000)
	}
	at, missing := firstOn(all, "ext4", "xfs")
	if missing != "" {
		return ruled(m.String(), CannotTest, "the claim compares ext4 with XFS; missing: "+missing)
	}
	ratio := quotient(at["ext4"].time(id, variantCreate), at["xfs"].time(id, variantCreate))
	fmt.Fprintf(&m, "ext4 takes %s of XFS's time.", factor(ratio))
	return decide(m.String(),
		fmt.Sprintf("The ratio had to be the claimed %.2fx to within 25 %%. The two were measured one after the other, on different devices or images, so the interval is the widest that both allow.", claimed),
		"", near(ratio, claimed))
}
