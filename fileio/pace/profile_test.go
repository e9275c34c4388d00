package pace_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stele-go/stele/fileio/pace"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in, want string
		iosize   int
	}{
		{"gp3", "gp3: 3000 IOPS, 125 MiB/s", 256 << 10},
		{"gp3,size=500,iops=6000,mbps=500", "gp3 of 500 GiB: 6000 IOPS, 500 MiB/s", 256 << 10},
		{"gp3,size=160,iops=80000,mbps=2000", "gp3 of 160 GiB: 80000 IOPS, 2000 MiB/s", 256 << 10},
		{"gp3,mbps=750", "gp3: 3000 IOPS, 750 MiB/s", 256 << 10},
		{"gp3,size=1", "gp3 of 1 GiB: 3000 IOPS, 125 MiB/s", 256 << 10},
		{"essd-pl0", "essd-pl0 of 100 GiB: 3000 IOPS, 119.2 MiB/s", 0},
		{"essd-pl0,size=65536", "essd-pl0 of 65536 GiB: 10000 IOPS, 171.7 MiB/s", 0},
		{"essd-pl1", "essd-pl1 of 100 GiB: 6800 IOPS, 162.1 MiB/s", 0},
		{"essd-pl1,size=1000", "essd-pl1 of 1000 GiB: 50000 IOPS, 333.8 MiB/s", 0},
		{"essd-pl2", "essd-pl2 of 461 GiB: 24850 IOPS, 334.3 MiB/s", 0},
		{"essd-pl3,size=20000", "essd-pl3 of 20000 GiB: 1000000 IOPS, 3815 MiB/s", 0},
		{"iops=3000,mbps=125", "3000 IOPS, 125 MiB/s", 0},
		{"iops=200", "200 IOPS", 0},
		{"mbps=10", "10 MiB/s", 0},
	} {
		p, err := pace.Parse(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := p.String(); got != c.want || p.IOSize != c.iosize {
			t.Errorf("%s: %s with operations of %d bytes, want %s, %d", c.in, got, p.IOSize, c.want, c.iosize)
		}
	}
	for _, in := range []string{
		"", ",", "gp4", "gp3,", "gp3,iops", "gp3,iops=", "gp3,iops=x", "gp3,iops=-1", "gp3,iops=0", "gp3,speed=3", "gp3,iops=3000,iops=3000",
		"gp3,iops=2999", "gp3,iops=80001,size=1000", "gp3,iops=16000,size=31", "gp3,mbps=124", "gp3,mbps=751", "gp3,mbps=2001,iops=80000,size=1000",
		"gp3,size=65537", "essd-pl1,iops=3000", "essd-pl1,mbps=3000", "essd-pl4", "essd-pl1,size=19", "essd-pl3,size=1260",
		"size=3", "size=3,iops=100", "iops=99999999999999999999", "iops=3000;mbps=125",
	} {
		if p, err := pace.Parse(in); err == nil {
			t.Errorf("%q is %v", in, p)
		}
	}
	for _, name := range pace.Names() {
		if _, err := pace.Parse(name); err != nil {
			t.Error(err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"gp4":                     `pace: Parse: kind of volume: "gp4"; want gp3, essd-pl0, essd-pl1, essd-pl2, essd-pl3, or iops= and mbps=`,
		"gp3,speed=3":             `pace: Parse: limit: "speed=3"; want size=, iops= or mbps=`,
		"gp3,iops=0":              `pace: Parse: iops: "0"; want a whole number from 1 to 1073741824`,
		"gp3,iops=3000,iops=4000": `pace: Parse: iops: 3000 and 4000; want one value`,
		"gp3,iops=2999":           `pace: GP3: IOPS: 2999; want 3000 to 50000 for 100 GiB`,
		"essd-pl1,iops=3000":      `pace: Parse: profile: "essd-pl1,iops=3000"; want essd-pl1 and size= alone: the limits follow from the size`,
		"size=3,iops=100":         `pace: Parse: profile: "size=3,iops=100"; want a kind of volume with size=`,
	} {
		if _, err := pace.Parse(in); !errors.Is(err, fs.ErrInvalid) || err.Error() != want {
			t.Errorf("%s: %v; want %s", in, err, want)
		}
	}
}

func TestESSDLevels(t *testing.T) {
	if p, err := pace.ESSD(4, 100); err == nil {
		t.Errorf("level 4 is %v", p)
	}
	if got := (pace.Profile{}).String(); got != "no limit" {
		t.Error(got)
	}
}

// Every profile that Parse accepts has a limit, and a name that it accepts again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"gp3", "gp3,size=500,iops=6000,mbps=500", "essd-pl1,size=500", "iops=3000,mbps=125", "gp3,,", "=,="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := pace.Parse(s)
		if err != nil {
			return
		}
		if p.IOPS <= 0 && p.BytesPerSecond <= 0 || p.IOPS < 0 || p.BytesPerSecond < 0 {
			t.Errorf("%q: %+v", s, p)
		}
		if p.Name != "" {
			if _, err := pace.Parse(p.Name); err != nil {
				t.Error(err)
			}
		}
		if pace.New(p).Profile() != p {
			t.Error("a limiter forgets its profile")
		}
	})
}
