package claims

import (
	"fmt"
	"math"

	"github.com/stele-go/stele/lab/run"
)

// factor writes "1.32x [1.28, 1.37]".
func factor(e run.Estimate) string {
	return fmt.Sprintf("%.2fx %s", e.Median, interval(e, "%.2f"))
}

func interval(e run.Estimate, verb string) string {
	if math.IsNaN(e.Lo) || math.IsNaN(e.Hi) {
		return "[no interval]"
	}
	return fmt.Sprintf("["+verb+", "+verb+"]", e.Lo, e.Hi)
}

// nanos writes a time an operation.
func nanos(e run.Estimate) string {
	if e.Median >= 10_000 {
		return fmt.Sprintf("%.1f us", e.Median/1000)
	}
	return fmt.Sprintf("%.0f ns", e.Median)
}

// lasting writes a time that may be many milliseconds.
func lasting(e run.Estimate) string {
	if e.Median >= 1e6 {
		return fmt.Sprintf("%.1f ms", e.Median/1e6)
	}
	return nanos(e)
}

// shareText writes "0.3 % [0.1, 0.9]".
func shareText(e run.Estimate) string {
	e.Median, e.Lo, e.Hi = 100*e.Median, 100*e.Lo, 100*e.Hi
	return fmt.Sprintf("%.1f %% %s", e.Median, interval(e, "%.1f"))
}

// perBlock says how many operations a block did where fewer were done than
// were published.
func perBlock(ev *evidence, id string, published int64) string {
	if ops := opsOf(ev.results[id]); ops > 0 && ops < published {
		return fmt.Sprintf(" Measured with %d operations a block, not %d.", ops, published)
	}
	return ""
}

// megabytes is the rate of operations of so many bytes in MB a second.
func megabytes(bytes float64, perOp run.Estimate) string {
	return fmt.Sprintf("%.0f MB/s", bytes/perOp.Median*1e3)
}
