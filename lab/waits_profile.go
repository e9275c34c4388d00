package lab

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// read returns the contention of the two profiles.
func (p *profiles) read(missing map[string]run.Reason) []run.Contention {
	perSecond, err := cyclesPerSecond()
	if err != nil {
		missing["block"], missing["mutex"] = run.ReasonOf(err), run.ReasonOf(err)
		return nil
	}
	var list []run.Contention
	for _, kind := range []struct {
		name string
		read func([]runtime.BlockProfileRecord) (int, bool)
	}{{"block", runtime.BlockProfile}, {"mutex", runtime.MutexProfile}} {
		list = append(list, contentionOf(kind.name, records(kind.read), perSecond)...)
	}
	return list
}

// records reads a profile whole; it may grow between the two readings.
func records(read func([]runtime.BlockProfileRecord) (int, bool)) []runtime.BlockProfileRecord {
	n, _ := read(nil)
	for {
		list := make([]runtime.BlockProfileRecord, n+50)
		var ok bool
		if n, ok = read(list); ok {
			return list[:n]
		}
	}
}

// cyclesPerSecond returns the unit of the profiles, which only their text form has.
func cyclesPerSecond() (float64, error) {
	var text bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&text, 1); err != nil {
		return 0, err
	}
	for line := range strings.Lines(text.String()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "cycles/second="); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the block profile has no unit: %.80q", text.String())
}

func contentionOf(profile string, list []runtime.BlockProfileRecord, perSecond float64) []run.Contention {
	sums := map[[2]string]*run.Contention{}
	var order [][2]string
	for _, r := range list {
		var names []string
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			names = append(names, f.Function)
		}
		call, in := callAndCaller(names)
		if notTheVariants(in) {
			continue
		}
		k := [2]string{call, in}
		if sums[k] == nil {
			sums[k] = &run.Contention{Profile: profile, Call: call, In: in}
			order = append(order, k)
		}
		sums[k].Count += r.Count
		sums[k].Time += run.Nanos(float64(r.Cycles) / perSecond * 1e9)
	}
	var out []run.Contention
	for _, k := range order {
		out = append(out, *sums[k])
	}
	return out
}

// notTheVariants reports whether a wait is the lab's or the runtime's: for workers,
// for the reader of the trace, for signals.
func notTheVariants(in string) bool {
	for _, of := range []string{"github.com/stele-go/stele/lab.(*B).", "github.com/stele-go/stele/lab.(*selfTrace).", "github.com/stele-go/stele/lab.meter.", "runtime/", "os/signal."} {
		if strings.HasPrefix(in, of) {
			return true
		}
	}
	return in == ""
}
