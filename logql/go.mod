module github.com/stele-go/stele/logql

go 1.26.0

require (
	github.com/stele-go/stele v0.1.0
	github.com/stele-go/stele/logstore v0.1.0
)
