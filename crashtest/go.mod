module github.com/stele-go/stele/crashtest

go 1.26.0

require (
	github.com/hanwen/go-fuse/v2 v2.6.0
	github.com/stele-go/stele v0.1.0
	golang.org/x/sys v0.30.0
)
