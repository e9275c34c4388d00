module github.com/stele-go/stele/proofs

go 1.26.0

require (
	github.com/hanwen/go-fuse/v2 v2.12.1
	github.com/stele-go/stele v0.1.0
	github.com/stele-go/stele/crashtest v0.1.0
	github.com/stele-go/stele/fileio/pace v0.1.0
	github.com/stele-go/stele/lab v0.1.0
	github.com/stele-go/stele/logstore v0.1.0
	golang.org/x/sys v0.49.0
)
