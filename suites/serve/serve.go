// Package serve asks what it costs to push log lines over HTTP and to query them: suite
// serve. The server is a process of its own, so that its CPU time is apart from that of
// the clients, which share its processors. The clients take no more time than they must:
// requests are made before and lie in a file ([WriteRequests]), and a client writes one
// and reads the status of the answer. Each body is another one, with the lines of suite log.
//
//	experiments.go  the experiments: push and push-rate, by lines of a push and connections
//	pushing.go      a block of pushes: in a closed loop, or when they are due, alone or beside queries
//	asking.go       a block of queries
//	process.go      the server's process
//	requests.go     the file of requests
//	load.go         clients outside of the lab's experiments
//
// The tests TestBars and TestGrid measure the server in one long run, over millions of lines:
// see docs/server.md.
package serve
