package cli

import (
	"fmt"
	"slices"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

// A besides watches for other measurements on this machine: each slows the others.
type besides struct {
	sign sign
	met  []string // names of the others
	show *meter
	name string // of the command
}

// watchBeside announces this measurement, and warns of others where show shows
// progress.
func watchBeside(show *meter, name string) *besides {
	b := &besides{sign: hangOut(), show: show, name: name}
	b.look()
	return b
}

// look warns of measurements that have begun since the last look.
func (b *besides) look() {
	for _, other := range b.sign.others() {
		if !slices.Contains(b.met, other) {
			b.met = append(b.met, other)
			b.show.warn(b.name, fmt.Errorf("process %s measures on this machine too: each slows the other. End one, or doubt the figures", pidOf(other)))
		}
	}
}

// during returns a function that looks at the beginning of each experiment, and then
// calls show.
func (b *besides) during(show func(lab.Event)) func(lab.Event) {
	index := 0
	return func(e lab.Event) {
		if e.Index != index {
			index = e.Index
			b.look()
		}
		show(e)
	}
}

// end looks once more, and puts what was seen into the run, unless it is nil.
func (b *besides) end(measured *run.Run) {
	b.look()
	b.sign.close()
	if measured == nil || len(b.met) == 0 {
		return
	}
	for i := range measured.Places {
		e := &measured.Places[i].Environment
		e.Warnings = append(e.Warnings, run.Warning{Code: run.WarnBeside, N: int64(len(b.met))})
	}
}
