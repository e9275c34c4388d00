package pace_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-go/stele/fileio/pace"
)

// A copy that leaves half of a volume to other clients.
func Example() {
	p, err := pace.Parse("gp3,iops=6000,mbps=250")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p)
	p.IOPS /= 2
	p.BytesPerSecond /= 2

	dir, _ := os.MkdirTemp("", "pace")
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "copy"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	lim := pace.New(p) // one for each volume, shared by all its users
	n, err := io.Copy(lim.Writer(context.Background(), f), strings.NewReader("some bytes"))
	fmt.Println(n, err)
	// Output:
	// gp3: 6000 IOPS, 250 MiB/s
	// 10 <nil>
}

// For requests that are not a stream, call Wait before each.
func ExampleLimiter_Wait() {
	lim := pace.New(pace.Profile{IOPS: 1000, BytesPerSecond: 16 * pace.MiB})
	f, err := os.CreateTemp("", "pace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	for i := range int64(3) {
		if err := lim.Wait(context.Background(), len(page)); err != nil {
			fmt.Println(err)
		}
		if _, err := f.WriteAt(page, i*4096); err != nil {
			fmt.Println(err)
		}
	}
	if err := lim.Wait(context.Background(), 0); err != nil { // the sync
		fmt.Println(err)
	}
	fmt.Println(f.Sync())
	// Output: <nil>
}

// Background work that yields to other clients of the volume.
func ExampleNewAdaptive() {
	lim, err := pace.NewAdaptive(pace.Profile{IOPS: 3000, BytesPerSecond: 125 * pace.MiB}, pace.AdaptOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for range 3 {
		if err := lim.Wait(ctx, 4096); err != nil {
			fmt.Println(err)
			return
		}
		began := time.Now()
		// ... read a page ...
		lim.ObserveRead(4096, time.Since(began))
	}
	fmt.Println("share of the limits:", lim.Share())
	// Output: share of the limits: 1
}
