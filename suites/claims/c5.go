package claims

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/stele-go/stele/internal/measure/aio"
	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
)

const (
	variantSetAside = "write into a file set aside"
	variantCreated  = "create, write, fsync file and folder"
)

const (
	c5Page     = 4 << 10
	c5FileSize = 1 << 30
	// Operations of a block, the same in all places: on a slow disk the first two MiB take
	// seconds and the whole file half an hour.
	c5Ops = 400
)

// c5Write is the workload that the report's fio ran.
func c5Write() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "C5-write", Question: "How long does a synced sequential write of 4 KiB take?",
		Op: "one direct, synced write of 4 KiB after the one before", Ops: c5Ops, MaxRounds: 12,
		Variants: []lab.Variant{{
			Name: variantSetAside, Doc: "as coded: O_DIRECT and O_SYNC, in a file for which 1 GiB was set aside by fallocate, as fio does; no file is created", Promise: powerTorn, Baseline: true,
			Run: inDir(writeSetAside),
		}},
	}
}

func writeSetAside(b *lab.B) (err error) {
	made, err := os.Create("data")
	if err != nil {
		return err
	}
	err = fileop.Fallocate(made, 0, 0, c5FileSize)
	if err := errors.Join(err, made.Sync(), made.Close()); err != nil {
		return err
	}
	f, err := aio.OpenDirectSync("data")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	page := c5Content()
	b.SetBytes(c5Page)
	for b.Loop() {
		if _, err := f.WriteAt(page, b.I()*c5Page); err != nil {
			return err
		}
	}
	return nil
}

func c5Content() []byte {
	page := sys.AlignedBuffer(c5Page, c5Page)
	for i := range page {
		page[i] = byte(i%251 + 1)
	}
	return page
}

// c5Create is the workload that the report says it measured.
func c5Create() lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "C5-create", Question: "How long does creating a durable small file take?",
		Op: "one new file of 4 KiB, it and its directory synced", Ops: c5Ops, MaxRounds: 12,
		Variants: []lab.Variant{{
			Name: variantCreated, Doc: "as meant: os.Create, a write of 4 KiB, fsync of the file, Close, fsync of the directory", Promise: powerTorn, Baseline: true,
			Run: inDir(createSynced),
		}},
	}
}

func createSynced(b *lab.B) (err error) {
	dir, err := os.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, page := distinctNames(b), c5Content()
	b.SetBytes(c5Page)
	for b.Loop() {
		f, err := os.Create(names[b.I()])
		if err != nil {
			return err
		}
		_, err = f.Write(page)
		if err := errors.Join(err, f.Sync(), f.Close(), dir.Sync()); err != nil {
			return err
		}
	}
	return nil
}

func claimC5() Claim {
	write, create := c5Write(), c5Create()
	return Claim{
		ID: "C5",
		Source: reportC.source("2.5",
			"Creating small files with O_SYNC takes 8.2 ms (p99 24.7) on ext4, 6.5 (17.3) on XFS and 14.9 (62.1) on btrfs."),
		Statement:   "told as creation latency, measured as 4 KiB sequential writes, direct and synced, into one 1 GiB file: ext4, XFS, btrfs, mean and p99; and small files created and synced",
		Claimed:     "8.2/24.7, 6.5/17.3, 14.9/62.1 ms",
		Promise:     "power, torn, all variants: each survives a power cut once it returns",
		Experiments: []lab.Experiment{write, create},
		judgeAll:    func(all []*evidence) judgement { return judgeC5(all, write.ID(), create.ID()) },
	}
}

// c5Claimed has the published mean and 99th percentile of each file system, in
// milliseconds.
var c5Claimed = map[string]struct{ mean, p99 float64 }{
	"ext4":  {8.2, 24.7},
	"xfs":   {6.5, 17.3},
	"btrfs": {14.9, 62.1},
}

// judgeC5 rules on the ratios to ext4, since the times belong to another machine.
func judgeC5(all []*evidence, write, create string) judgement {
	at, lack := firstOn(all, "ext4", "xfs", "btrfs")
	if at["ext4"] == nil {
		return ruling("", lacking("XFS and btrfs against ext4", lack))
	}
	var parts []part
	for _, job := range []struct{ how, id, variant string }{
		{"as coded: writes into one file", write, variantSetAside}, {"as meant: files created", create, variantCreated},
	} {
		base := at["ext4"]
		for _, fs := range []string{"xfs", "btrfs"} {
			parts = append(parts, c5Parts(base, at[fs], fs, job.how, job.id, job.variant, lack)...)
		}
		for _, fs := range []string{"ext4", "xfs", "btrfs"} {
			if at[fs] != nil {
				tail, _ := at[fs].tail(job.id, job.variant)
				parts = append(parts, figureOf(fs+" ("+job.how+")", fmt.Sprintf("mean %s, p99 %s", lasting(at[fs].time(job.id, job.variant)), lasting(tail))))
			}
		}
	}
	return ruling("A mean is compared in the same rounds. A p99 is that of the single operations of all blocks together, so its interval is the widest that both allow."+writeCaches(all), parts...)
}

// c5Parts returns the parts on one file system against ext4. XFS is claimed to be faster than
// ext4, btrfs to be slower.
func c5Parts(ext4, other *evidence, fs, how, id, variant, lack string) []part {
	mean, tail := "mean of ext4 against "+fs, "p99 of ext4 against "+fs
	if fs == "btrfs" {
		mean, tail = "mean of btrfs against ext4", "p99 of btrfs against ext4"
	}
	if other == nil {
		return []part{lacking(mean, lack).under(how), lacking(tail, lack).under(how)}
	}
	lack = cmp.Or(sameDisk(ext4.place.Environment, other.place.Environment), onDisk(ext4.place.Environment), onDisk(other.place.Environment))
	e, c := c5Claimed["ext4"], c5Claimed[fs]
	slow, fast := ext4, other
	te, _ := ext4.tail(id, variant)
	to, _ := other.tail(id, variant)
	if fs == "btrfs" {
		slow, fast, te, to, e, c = other, ext4, to, te, c, e
	}
	return []part{
		claimed(mean, betweenPlaces(slow, fast, id, variant, ""), e.mean/c.mean).under(how).needs(lack),
		claimed(tail, quotient(te, to), e.p99/c.p99).under(how).undecided(cmp.Or(ext4.fewLatencies(id, variant), other.fewLatencies(id, variant))).needs(lack),
	}
}
