// Package pace keeps a client below the limits of a volume.
//
// A volume in a cloud has two limits, operations a second and bytes a second.
// What is asked of it beyond them waits in a queue of the volume, behind which
// every other request waits too, an fsync as well. A client that keeps below
// them waits here instead, where a context can end the wait.
//
//	p, err := pace.Parse("gp3,iops=6000,mbps=250,size=100")
//	lim := pace.New(p) // one for a volume, for all who use it
//	w := lim.Writer(ctx, f)
//	_, err = io.Copy(w, src)
//
// It paces calls, not what the device is sent: the page cache joins and delays
// writes, and serves reads. The limits hold for the device where each call is
// one to the device, with O_DIRECT or a sync after it, or where the page cache
// is written out as fast as it is filled. That latency and jitter of a cloud's
// volume are like this is not said.
//
// A limiter of NewAdaptive also backs off while the volume is saturated, which
// it tells from how long operations take; see there.
//
// # Mistakes to avoid
//
//   - A limiter for each file or goroutine. The limits are the volume's: make
//     one limiter, and share it.
//   - Pacing writes to the page cache and expecting the device to keep to the
//     rate: write with O_DIRECT, or sync.
//   - Leaving out syncs. Wait(ctx, 0) counts one operation.
//   - Observing operations that the page cache serves: their latency
//     says nothing about the volume, and becomes the baseline of operations that
//     reach it.
package pace
