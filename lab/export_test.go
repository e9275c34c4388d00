package lab

// programs are the examples that measure, by the suite they measure. The
// blocks of such a suite run the example itself, as they would in a program
// of its own.
var programs = map[string]func(){}

// ProgramForTest says that the blocks of a suite are to run main.
func ProgramForTest(suite string, main func()) { programs[suite] = main }
