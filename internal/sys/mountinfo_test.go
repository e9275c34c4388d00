package sys

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseMounts(t *testing.T) {
	ms, err := ParseMounts(strings.NewReader(mountinfo))
	if err != nil {
		t.Fatal(err)
	}
	want := []MountPoint{
		{22, "0:21", "/", "/proc", "rw,relatime", "proc", "proc", "rw"},
		{27, "254:0", "/", "/", "rw,relatime", "ext4", "/dev/vda", "rw,discard"},
		{30, "259:2", "/srv", "/data", "rw,noatime", "xfs", "/dev/nvme0n1p2", "rw,attr2"},
		{31, "0:40", "/@home", "/home", "rw", "btrfs", "/dev/sdb1", "rw,ssd,subvol=/@home"},
		{32, "0:41", "/", `/with space\`, "rw", "tmpfs", "none", "rw,size=4k"},
		{33, "0:42", "/", "/data/over", "rw", "overlay", "overlay", "rw,lowerdir=/l1:/l2,upperdir=/data/u,workdir=/data/w"},
		{34, "0:43", "/", "/data/over", "rw", "tmpfs", "tmpfs", "rw"},
	}
	if !reflect.DeepEqual(ms, want) {
		t.Errorf("got\n%+v\nwant\n%+v", ms, want)
	}
}

func TestParseMountsRefuses(t *testing.T) {
	for _, line := range []string{
		"22 27 0:21 / /proc rw proc proc rw",  // no separator
		"22 27 0:21 / /proc - proc proc rw",   // a field too few
		"x 27 0:21 / /proc rw - proc proc rw", // no number
		"22 27 0:21 / /proc rw - proc",        // no source
	} {
		if ms, err := ParseMounts(strings.NewReader(line)); err == nil {
			t.Errorf("%q gave %+v, want an error", line, ms)
		}
	}
}

func TestFindMount(t *testing.T) {
	ms, err := ParseMounts(strings.NewReader(mountinfo))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		st   Statx
		want uint64 // mount id; 0: none
	}{
		{"/etc", Statx{Dev: "254:0"}, 27},
		{"/", Statx{Dev: "254:0"}, 27},
		{"/data", Statx{Dev: "259:2"}, 30},
		{"/data/x/y", Statx{Dev: "259:2"}, 30},
		{"/database", Statx{Dev: "254:0"}, 27},                 // not under /data
		{"/home/me", Statx{Dev: "0:77"}, 31},                   // a subvolume: no mount has its st_dev
		{"/data/over/x", Statx{Dev: "0:43"}, 34},               // the upper of two
		{"/data/over/x", Statx{Dev: "0:42"}, 33},               // found by device
		{"/data/over/x", Statx{}, 34},                          // neither known: the last mount hides the other
		{"/data/over/x", Statx{Dev: "0:43", MountID: 33}, 33},  // the ID decides
		{"/data/over/x", Statx{Dev: "0:43", MountID: 999}, 34}, // an unknown ID
	} {
		m, ok := FindMount(ms, c.path, c.st)
		if !ok || m.ID != c.want {
			t.Errorf("FindMount(%q, %+v) = %d %v, want %d", c.path, c.st, m.ID, ok, c.want)
		}
	}
	if m, ok := FindMount(nil, "/x", Statx{}); ok {
		t.Errorf("FindMount in no mounts = %+v", m)
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add(mountinfo)
	f.Add(`1 2 3:4 / \04 rw - a b`)
	f.Fuzz(func(t *testing.T, s string) {
		ms, err := ParseMounts(strings.NewReader(s))
		if err != nil {
			return
		}
		if m, ok := FindMount(ms, "/a/b", Statx{Dev: "254:0"}); ok && !above(m.Path, "/a/b") {
			t.Errorf("%q is not above /a/b", m.Path)
		}
	})
}

const mountinfo = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
30 27 259:2 /srv /data rw,noatime - xfs /dev/nvme0n1p2 rw,attr2
31 27 0:40 /@home /home rw - btrfs /dev/sdb1 rw,ssd,subvol=/@home
32 27 0:41 / /with\040space\134 rw - tmpfs none rw,size=4k
33 27 0:42 / /data/over rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/data/u,workdir=/data/w
34 33 0:43 / /data/over rw - tmpfs tmpfs rw
`
