// Package tracetest records the system calls of scenarios, for tests that hold
// them in golden files. A scenario runs in a process of its own, which is the
// test binary again, under strace(1). Linux only.
//
// The test binary hands over in its TestMain:
//
//	tracetest.HandOver(runScenario)
//
// and marks in the scenario what is to be recorded, with Begin and End.
package tracetest
