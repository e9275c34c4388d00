package lab

// meter takes everything that is recorded for a block beside its latencies,
// as differences over the timed part.
type meter struct{}

func (m *meter) begin() {}
func (m *meter) end()   {}
