package sys

import "testing"

func TestOrdersData(t *testing.T) {
	d, name := openDir(t, ForSync)
	st, err := StatFS(name)
	if err != nil {
		t.Fatal(err)
	}
	if fs := FSName(st.Magic); d.OrdersData() && fs != "xfs" && fs != "ext2/ext3/ext4" {
		t.Errorf("%s is said to order data before names", fs)
	}
	path, _ := openDir(t, ForPath)
	if path.OrdersData() {
		t.Error("through a descriptor that tells no flags")
	}
	proc, err := OpenDir("/proc", ForSync)
	if err != nil {
		t.Skip(err)
	}
	defer proc.Close()
	if proc.OrdersData() || proc.IsLocal() {
		t.Error("of /proc nothing is known")
	}
}

func TestFindOption(t *testing.T) {
	for _, c := range []struct{ options, want string }{
		{"rw", ""}, {"rw,data=writeback", "data=writeback"}, {"data=journal,rw", "data=journal"},
		{"rw,rtdev=/dev/sdb", "rtdev=/dev/sdb"}, {"rw,xdata=writeback", ""}, {"", ""},
		{"rw,dax=always", "dax=always"},
	} {
		if got := findOption(c.options, "data=writeback", "data=journal", "rtdev=", "dax"); got != c.want {
			t.Errorf("%q: %q", c.options, got)
		}
	}
}

func TestReleaseAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"5.2.0": true, "5.2-rc1": true, "5.10.1-x86": true, "6.0": true, "10.1": true,
		"5.1.21": false, "4.20": false, "": false, "five.two": false, "6": false,
	} {
		if releaseAtLeast(release, 5, 2) != want {
			t.Errorf("%q: want %v", release, want)
		}
	}
}

func TestWhyInherited(t *testing.T) {
	for _, c := range []struct {
		flags, xflags uint32
		want          bool
	}{
		{0, 0, true}, {0x80000, 0x80000000, true}, // extents; has attributes
		{fsJournalDataFlag, 0, false}, {0, xflagRTInherit, false}, {0, xflagDAX, false},
	} {
		if got := whyInherited(c.flags, c.xflags); (got == "") != c.want {
			t.Errorf("%#x, %#x: %q", c.flags, c.xflags, got)
		}
	}
}
