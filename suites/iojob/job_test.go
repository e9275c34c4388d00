package iojob

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
)

// of returns a job with settings written "rw=randwrite depth=4".
func of(t *testing.T, settings string) Job {
	t.Helper()
	j := New()
	j.Name = "j"
	for _, s := range strings.Fields(settings) {
		key, value, _ := strings.Cut(s, "=")
		if err := j.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

func TestSet(t *testing.T) {
	j := of(t, "rw=randrw=70 block=4k:70,64k:30 size=1G depth=8 threads=2 fsync=3 direct=true rate=1000 arrivals=fixed engine=uring")
	want := Job{
		Name: "j", Size: 1 << 30, Blocks: []Block{{4096, 70}, {65536, 30}}, Reads: 70, Pattern: patternRand, Depth: 8, Threads: 2,
		Fsync: 3, Direct: true, Engine: engineRing, Rate: 1000, Arrivals: fixedLaw,
	}
	if !reflect.DeepEqual(j, want) {
		t.Errorf("%+v\nwant %+v", j, want)
	}
	if err := j.check(); err != nil {
		t.Error(err)
	}
}

// The last kind of operations that is set holds.
func TestSetKindAgain(t *testing.T) {
	if j := of(t, "rw=append"); !j.Grow || j.reads() || j.Pattern != patternSeq || j.Label() != "append-4KiB" {
		t.Errorf("rw=append: %+v, %s", j, j.Label())
	}
	if j := of(t, "rw=append rw=randread"); j.Grow || j.writes() || j.Pattern != patternRand {
		t.Errorf("rw=append and then randread: %+v", j)
	}
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"rw", "randtrim", `rw: "randtrim"; want read, write, randread`},
		{"rw", "read=3", `rw: "read=3"; want read`},
		{"rw", "rw=101", "want read"},
		{"block", "4k:0", `block: "4k:0"; want a size`},
		{"block", "", "want a size"},
		{"block", "1G", "up to 64 MiB"},
		{"pattern", "zipf:1", `pattern: "zipf:1"; want seq, random, or zipf:S`},
		{"pattern", "zipf:x", "want seq"},
		{"pattern", "seq:1", "want seq"},
		{"depth", "0", `depth: "0"; want a whole number from 1 to 4096`},
		{"sync", "always", `sync: "always"; want none, fsync, fdatasync, o_sync or o_dsync`},
		{"engine", "libaio", "want sync, mmap, uring or uring-poll"},
		{"cache", "hot", "want warm or cold"},
		{"rate", "-1", "operations a second"},
		{"rate", "NaN", "operations a second"},
		{"size", "0", "want a size such as 4096"},
		{"direct", "maybe", "want true or false"},
		{"speed", "1", `setting of a job: "speed"; want rw, block`},
		{"bs", "4k", `bs: "4k"; want block in place of fio's bs`},
	} {
		j := New()
		if err := j.Set(c.key, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: %v, want %q in it", c.key, c.value, err, c.want)
		}
	}
}

// Settings that contradict each other are refused: none is ignored.
func TestValidateRefuses(t *testing.T) {
	for settings, want := range map[string]string{
		"depth=4 engine=sync":                         "j: depth: 4; want 1 with engine sync",
		"rw=randread fsync=1":                         "none for a job that writes nothing",
		"rw=randwrite sync=o_sync fsync=2":            "j: fsync: 2; want 0 with sync o_sync",
		"engine=uring-poll":                           "want direct with it",
		"rw=write engine=uring-poll direct=1 fsync=1": "none with engine uring-poll",
		"direct=1 cache=cold":                         "nothing with direct",
		"direct=1 block=1000":                         "j: block: 1000 bytes; want a multiple of 512 with direct",
		"size=4k threads=2":                           "j: size: 4096 bytes; want 8 KiB or more",
		"arrivals=fixed":                              "want rate with it",
		"engine=mmap depth=2":                         "j: depth: 2; want 1 with engine mmap",
		"engine=mmap direct=1":                        "another with direct",
		"rw=write engine=mmap sync=o_dsync":           "want none, fsync or fdatasync with engine mmap",
		"rw=append pattern=random":                    `j: pattern: "random"; want seq with rw append`,
		"rw=append depth=2":                           `j: engine: "uring"; want sync, and depth 1, with rw append`,
		"rw=append engine=mmap":                       `j: engine: "mmap"; want sync`,
		"rw=append cache=cold":                        "nothing with rw append",
	} {
		j := of(t, settings)
		if err := j.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", settings, err, want)
		}
	}
}

// What a job promises follows from what it does.
func TestLevel(t *testing.T) {
	for settings, want := range map[string]durability.Level{
		"rw=randwrite":                             durability.Kill,
		"rw=randwrite direct=1":                    durability.Kill, // the device's cache
		"rw=randwrite fsync=1":                     durability.Power,
		"rw=randwrite sync=fdatasync":              durability.Power,
		"rw=randwrite sync=o_dsync depth=4":        durability.Power,
		"rw=randwrite fsync=2":                     durability.Kill,
		"rw=randwrite fsync=16 sync=fdatasync":     durability.Kill,
		"rw=rw=10 sync=o_sync pattern=random":      durability.Power,
		"rw=randwrite depth=8 fsync=1 direct=true": durability.Power,
		"rw=randwrite engine=mmap fsync=1":         durability.Power,
		"rw=append":                                durability.Kill,
		"rw=append sync=fdatasync":                 durability.Power,
	} {
		j := of(t, settings)
		if err := j.check(); err != nil {
			t.Error(err)
		}
		if got := j.level(); got != want {
			t.Errorf("%s: %v, want %v", settings, got, want)
		}
	}
}

func TestParseFile(t *testing.T) {
	const text = `
# two depths
[global]
size = 1G
direct

[shallow]
[deep]
depth = 32
; and a name with spaces
[ with a mix ]
rw = randrw=70
`
	jobs, err := ParseFile(strings.NewReader(text), "x.job", New())
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 3 || jobs[0].Name != "shallow" || jobs[1].Depth != 32 || jobs[0].Depth != 1 || !jobs[2].Direct || jobs[2].Size != 1<<30 ||
		jobs[2].Name != "with a mix" || jobs[2].Reads != 70 || jobs[1].Reads != 100 {
		t.Errorf("%+v", jobs)
	}
	for text, want := range map[string]string{
		"":                       "x.job: no job",
		"size = 1G":              "x.job: no job",
		"[a]\nsize":              `x.job:2: "size"; want KEY = VALUE`,
		"[a\n":                   "x.job:1: \"[a\"; want [NAME]",
		"[a]\n\ndepth = many":    "x.job:3: depth: \"many\"; want",
		"[a]\n[global]\ndepth=1": "x.job:2: [global] after a job",
	} {
		if _, err := ParseFile(strings.NewReader(text), "x.job", New()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Every operation lies in the file, at a multiple of the block's size or behind the
// one before; the shares of kinds and sizes are those asked for.
func TestSource(t *testing.T) {
	for _, settings := range []string{
		"rw=randread size=1M", "rw=randrw=70 size=1M block=4k:70,64k:30 direct=1", "rw=read size=1M threads=3", "pattern=zipf:1.2 size=8M", "pattern=zipf:0.9 size=8M",
	} {
		j := of(t, settings)
		const n = 20_000
		var reads, small, all int
		hits := map[int64]int{}
		for thread := range j.Threads {
			s := newSource(&j, rand.New(rand.NewPCG(1, uint64(thread))), thread)
			last := int64(-1)
			for range n / j.Threads {
				o := s.next()
				all++
				if o.off < 0 || o.off+int64(o.n) > j.Size || o.off%4096 != 0 {
					t.Fatalf("%s: %d bytes at %d of a file of %d", settings, o.n, o.off, j.Size)
				}
				if !o.write {
					reads++
				}
				if o.n == 4096 {
					small++
				}
				if j.Pattern == patternSeq && last >= 0 && o.off != last && o.off != s.from {
					t.Fatalf("%s: offset %d after the one that ends at %d", settings, o.off, last)
				}
				last = o.off + int64(o.n)
				hits[o.off]++
			}
		}
		if share := 100 * float64(reads) / float64(all); share < float64(j.Reads)-2 || share > float64(j.Reads)+2 {
			t.Errorf("%s: %.0f %% reads", settings, share)
		}
		if len(j.Blocks) == 2 && (small < n*68/100 || small > n*72/100) {
			t.Errorf("%s: %d of %d operations are small", settings, small, n)
		}
		var most int
		for _, h := range hits {
			most = max(most, h)
		}
		// Of 2048 blocks the most popular one has about a tenth by Zipf's law.
		if j.Pattern == patternZipf && (most < n/20 || most > n/2) {
			t.Errorf("%s: the most popular block has %d of %d", settings, most, n)
		}
	}
}
