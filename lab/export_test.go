package lab

// registered are experiments of the external tests, whose blocks the test
// binary is to run too.
var registered []Experiment

// RegisterForTest makes the blocks of e known to TestMain.
func RegisterForTest(e Experiment) { registered = append(registered, e) }
