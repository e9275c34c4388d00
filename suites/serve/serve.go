// Package serve asks what it costs to push log lines over HTTP and to query them: suite
// serve. The server is a process of its own, so that its CPU time is apart from that of
// the clients, which share its processors.
//
// The clients take no more time than they must: requests are made before and lie in a file
// ([WriteRequests]), and a client writes one and reads the status of the answer ([Load]).
// Each body is another one, with the lines of suite log.
package serve
