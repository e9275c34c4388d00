package units

import "testing"

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1000: "1000 bytes", 1 << 10: "1 KiB", 65 << 10: "65 KiB", 4097: "4097 bytes", 1 << 20: "1 MiB", 3 << 30: "3 GiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDecimal(t *testing.T) {
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1_234_567: "1.23 MB", 5e11: "500 GB"} {
		if got := Decimal(n); got != want {
			t.Errorf("Decimal(%v) = %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 16: "16 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
