// Package pace keeps a client below the limits of a volume.
//
// A cloud volume has two limits, operations a second and bytes a second. Requests
// beyond them wait in a queue of the volume, and every other request, an fsync too,
// waits behind them. A client that stays below the limits waits here instead, where a
// context can end the wait.
//
//	p, err := pace.Parse("gp3,iops=6000,mbps=250,size=100")
//	lim := pace.New(p) // one for each volume, shared by all its users
//	w := lim.Writer(ctx, f)
//	_, err = io.Copy(w, src)
//
// It paces calls, not the requests that the device gets: the page cache merges and
// delays writes, and serves reads. The limits hold for the device if each call is one
// request to the device, with O_DIRECT or a sync after it, or if the page cache is
// written out as fast as it fills. The package makes no claim that latency and jitter
// of a cloud volume behave like this.
//
// A limiter of NewAdaptive also backs off while the volume is saturated, which it
// detects from the latency of operations.
//
// # Mistakes to avoid
//
//   - A limiter for each file or goroutine. The limits are the volume's: make one
//     limiter, and share it.
//   - Pacing writes to the page cache and expecting the device to keep the rate: write
//     with O_DIRECT, or sync.
//   - Leaving out syncs. Wait(ctx, 0) counts one operation.
//   - Observing operations that the page cache serves: their latency says nothing about
//     the volume, and becomes the baseline of operations that reach it.
package pace
