package window

import "github.com/stele-go/stele/logstore"

// earliest keeps the value of the first entry in time; of those of equal time, the one
// that comes first in the order of queries, or else was added first.
type earliest struct {
	set bool
	at  logstore.Cursor
	v   float64
}

func (e *earliest) add(time int64, v float64, _ int64) { e.addAt(&logstore.Cursor{Time: time}, v) }

func (e *earliest) addAt(at *logstore.Cursor, v float64) {
	if !e.set || at.Time < e.at.Time || at.Time == e.at.Time && at.Compare(e.at) < 0 {
		*e = earliest{true, *at, v}
	}
}

func (e *earliest) merge(o *earliest) {
	if o.set {
		e.addAt(&o.at, o.v)
	}
}

func (e *earliest) value(*Function) (float64, bool) { return e.v, e.set }

// latest keeps the value of the last entry in time; of those of equal time, the one
// that comes last in the order of queries, or else was added last.
type latest struct {
	set bool
	at  logstore.Cursor
	v   float64
}

func (l *latest) add(time int64, v float64, _ int64) { l.addAt(&logstore.Cursor{Time: time}, v) }

func (l *latest) addAt(at *logstore.Cursor, v float64) {
	if !l.set || at.Time > l.at.Time || at.Time == l.at.Time && at.Compare(l.at) >= 0 {
		*l = latest{true, *at, v}
	}
}

func (l *latest) merge(o *latest) {
	if o.set {
		l.addAt(&o.at, o.v)
	}
}

func (l *latest) value(*Function) (float64, bool) { return l.v, l.set }
