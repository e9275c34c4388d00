package atomicfile

// Ordered reports whether SyncAuto relies on the journal's order here.
func (d *Dir) Ordered() bool { return d.at.ordered }

// TempName is a temporary name of this process.
func TempName() string { return tempName(defaultTemp) }

// OldTempName is a temporary name of this process before the last boot.
func OldTempName() string { return otherTemp(func(w *writer) { w.boot = "0123456789abcdef" }) }

// DeadTempName is one of a process of this boot that has ended.
func DeadTempName() string { return otherTemp(func(w *writer) { w.start++ }) }

// ForeignTempName is one of another container.
func ForeignTempName() string { return otherTemp(func(w *writer) { w.namespace++ }) }

func otherTemp(change func(w *writer)) string {
	w, _ := thisWriter()
	change(&w)
	return "." + w.tag(1) + ".tmp"
}
